# SPDX-License-Identifier: Apache-2.0
"""What torch_suite.py concludes from the outcomes of PyTorch's own tests."""

import json

import torch_suite


def _outcomes(**outcomes):
    return {
        case: {"outcome": outcome, "text": f"why {case} {outcome}", "groups": 1}
        for case, outcome in outcomes.items()
    }


def test_what_gloo_passes_infold_has_to_pass():
    gloo = _outcomes(a="passed", b="passed", c="failed")
    assert not torch_suite.failures(gloo, _outcomes(a="passed", b="passed"), {})
    for outcome in ("failed", "skipped"):
        [found] = torch_suite.failures(gloo, _outcomes(a="passed", b=outcome), {})
        assert found.startswith("b: ") and f"why b {outcome}" in found


def test_an_exception_covers_its_case_while_it_fails():
    gloo = _outcomes(a="passed")
    assert not torch_suite.failures(gloo, _outcomes(a="failed"), {"a": "by name"})
    [found] = torch_suite.failures(gloo, _outcomes(a="passed"), {"a": "by name"})
    assert found.startswith("a: infold passes it")


def test_exceptions_have_reasons():
    exceptions = json.loads(torch_suite._EXCEPTIONS.read_text(encoding="utf-8"))
    assert exceptions and all(len(reason.split()) > 3 for reason in exceptions.values())
