"""Formulas are MathML that a browser shows without a script."""

import re

import pytest

pytest.importorskip("sphinx")

from sphinx.errors import ExtensionError

from zslplat_site.mathml import _mathml


def test_bars_of_a_norm_do_not_grow():
    shown = _mathml(r"\lVert X \rVert^2 + |a|", block=True)
    assert 'display="block"' in shown
    bars = re.findall(r"<mo([^>]*)>[|\u2016]</mo>", shown)
    assert len(bars) == 4
    assert all('stretchy="false"' in bar for bar in bars)


def test_a_command_that_is_not_known_ends_the_build():
    with pytest.raises(ExtensionError, match="nonsense"):
        _mathml(r"\nonsense{x}", block=False)
