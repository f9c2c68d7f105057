"""Printed variants pass the conformance kit like the default, and are shown with their values."""

import json

import pytest

from zslplat.registry import component
from zslplat.testing import checks_for, run_checks

# Those that compute otherwise than the default; the rest are values of options that the kit tries anyway.
VARIANTS = [
    *(("dap", "paper"), ("exem-1nns", "paper"), ("gfzsl-em", "paper"), ("jlse", "paper"), ("tmv-hlp", "paper")),
    *(("sje", "authors"), ("zskl-ort", "authors")),
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_a_variant_keeps_the_promises_of_its_kind(name, variant):
    method = component("methods", name).build({"variant": variant})
    assert checks_for(method)
    assert [result for result in run_checks(method) if result.is_failure] == []


def test_a_variant_is_shown_with_its_values(call):
    shown = json.loads(call("show", "cmt(variant=authors)", "--json").stdout)[0]["parameters"]
    parameters = {parameter["name"]: parameter for parameter in shown}
    assert (parameters["hidden"]["default"], parameters["hidden"]["search"]) == ("200", "")
    assert (parameters["sparsity"]["default"], parameters["layers"]["default"]) == ("5.0", "2")
