# SPDX-License-Identifier: Apache-2.0
"""Parameters of GRACE, and the methods of infold that they stand for."""

import pytest

import infold


@pytest.mark.parametrize(
    "params, choice",
    (
        ({}, "none"),
        (
            {
                "compressor": "topk",
                "compress_ratio": 0.01,
                "memory": "residual",
                "communicator": "allgather",
            },
            "topk ratio=0.01 travel=0, memory residual decay=1",
        ),
        ({"compressor": "qsgd", "quantum_num": 64, "bucket_size": 128}, "levels=64 bucket=128"),
        (
            {"compressor": "signum", "momentum": 0.8},
            "signum abstain=1, memory momentum momentum=0.8",
        ),
        (
            {"compressor": "dgc", "compress_ratio": 0.1, "memory": "dgc", "momentum": 0.7},
            "dgc ratio=0.1 travel=0, memory dgc momentum=0.7",
        ),
        ({"compressor": "efsignsgd", "memory": "efsignsgd", "lr": 0.2}, "ef-sign rate=0.2"),
        ({"compressor": "powersgd", "compress_rank": 2, "memory": "powersgd"}, "powersgd rank=2"),
        # Parameters that are not given have GRACE's values, from which infold's own may differ.
        ({"compressor": "terngrad"}, "terngrad clip=2.5 bucket=0"),
        ({"compressor": "qsgd"}, "levels=127 bucket=128"),
        ({"compressor": "topk", "memory": "residual", "beta": 0.5}, "residual decay=0.5"),
        ({"compressor": "powersgd"}, "powersgd rank=1"),
        ({"compressor": "dgc", "memory": "dgc"}, "memory dgc momentum=0.9"),
    ),
)
def test_graces_parameters_give_the_same_method(params, choice):
    assert choice in infold.compress.from_params(params).choice


@pytest.mark.parametrize(
    "params, words",
    (
        ({"compressor": "inceptionn"}, "no method for GRACE's 'inceptionn'"),
        ({"memory": "other"}, "no memory for GRACE's 'other'"),
        ({"compressor": "qsgd", "quantum_num": 200}, "levels is 200; the limits are 0 to 127"),
        ({"compressor": "fp16"}, "is a wire format here"),
        ({"compressor": "dgc", "memory": "dgc", "gradient_clipping": True}, "clip the gradients"),
        ({"compressor": "topk", "threshold": 1}, "no meaning for topk with memory none: threshold"),
    ),
)
def test_graces_parameters_without_a_meaning_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        infold.compress.from_params(params)
