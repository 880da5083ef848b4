// SPDX-License-Identifier: Apache-2.0
//
// infold-rival-openmpi: sums with Open MPI. With `allreduce` Open MPI chooses the algorithm. With
// `oneshot` every rank sends its tensor to all others. mpirun starts and connects the program. An
// error ends all ranks, which is MPI's default.

#include <memory>
#include <mpi.h>

#include "bench/rivals/rival.h"

namespace infold::rivals {
namespace {

Reduce all_reduce(const Options&, std::span<float>) {
  return [](std::span<const float>, std::span<float> tensor) {
    MPI_Allreduce(MPI_IN_PLACE, tensor.data(), static_cast<int>(tensor.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  };
}

Reduce one_shot(const Options& options, std::span<float> tensor) {
  const auto others = static_cast<std::size_t>(options.world - 1);
  auto received = std::make_shared<std::vector<float>>(others * tensor.size());
  auto requests = std::make_shared<std::vector<MPI_Request>>(2 * others);
  return [=, rank = options.rank, world = options.world](std::span<const float>,
                                                         std::span<float> sum) {
    const auto count = static_cast<int>(sum.size());
    for (int step = 1; step < world; ++step) {
      const auto next = static_cast<std::size_t>(step - 1);
      MPI_Irecv(received->data() + next * sum.size(), count, MPI_FLOAT, (rank + step) % world, 0,
                MPI_COMM_WORLD, &(*requests)[next]);
      MPI_Isend(sum.data(), count, MPI_FLOAT, (rank + world - step) % world, 0, MPI_COMM_WORLD,
                &(*requests)[others + next]);
    }
    MPI_Waitall(static_cast<int>(requests->size()), requests->data(), MPI_STATUSES_IGNORE);
    for (std::size_t other = 0; other < others; ++other) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += (*received)[other * sum.size() + i];
    }
  };
}

}  // namespace
}  // namespace infold::rivals

int main(int argc, char** argv) {
  using namespace infold::rivals;
  Options options;
  const Program program{"infold-rival-openmpi", {"allreduce", "oneshot"}, true};
  const int code = parse(program, argc, argv, options);
  if (code >= 0) return code;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &options.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &options.world);
  const bool shot = options.algorithm == "oneshot";
  const bool exact =
      measure(options, shot ? "openmpi-oneshot" : "openmpi", Memory::in_place,
              [&](std::span<float> tensor) {
                return shot ? one_shot(options, tensor) : all_reduce(options, tensor);
              });
  MPI_Finalize();
  return exact ? 0 : 1;
}
