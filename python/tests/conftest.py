# SPDX-License-Identifier: Apache-2.0
import older_torch
import pytest
import ranks

older_torch.adapt()


@pytest.fixture(scope="session", params=[0, 1, 2], ids=["no_switch", "one_switch", "two_switches"])
def path(request):
    """Options for each path that tensors can take through the network."""
    with ranks.running_switches(request.param) as options:
        yield options


@pytest.fixture(scope="session")
def one_switch():
    with ranks.running_switches(1) as options:
        yield options
