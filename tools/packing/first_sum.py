# SPDX-License-Identifier: Apache-2.0
"""./dev package --check runs this in a bare Debian. Two ranks are processes that have only the
installed package. They join at a rendezvous or a switch and sum an array. With `beside`, each rank
also imports grpcio and protobuf, and makes a call with them before and after the sum in the same
process."""

import array
import os
import subprocess
import sys


def use_another_grpc():
    from concurrent import futures

    import grpc
    from google.protobuf import struct_pb2

    def echo(request, _context):
        return request

    methods = {
        "echo": grpc.unary_unary_rpc_method_handler(
            echo, struct_pb2.Value.FromString, struct_pb2.Value.SerializeToString
        )
    }
    server = grpc.server(futures.ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("check", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = channel.unary_unary(
            "/check/echo", struct_pb2.Value.SerializeToString, struct_pb2.Value.FromString
        )
        assert call(struct_pb2.Value(number_value=7), timeout=30).number_value == 7
    server.stop(None)


def rank():
    if "beside" in sys.argv:
        use_another_grpc()
    import infold

    tensor = array.array("f", range(1000))
    with infold.Communicator.join(deadline=60, shared_memory="off") as job:
        job.all_reduce(tensor)
        assert list(tensor) == [2.0 * i for i in range(1000)], tensor[:5]
    if "beside" in sys.argv:
        use_another_grpc()


def main():
    if "INFOLD_RANK" in os.environ:
        return rank()
    ranks = [
        subprocess.Popen(
            [sys.executable, *sys.argv],
            env=os.environ | {"INFOLD_RANK": str(each), "INFOLD_WORLD": "2"},
        )
        for each in range(2)
    ]
    failed = [each.wait() for each in ranks]
    if failed != [0, 0]:
        sys.exit(f"the ranks ended with {failed}")
    print("sum right")


if __name__ == "__main__":
    main()
