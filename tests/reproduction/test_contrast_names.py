"""What differences of several terms are called."""

from zslplat.reproduction.contrasts import named
from zslplat.reproduction.experiments import Term


def test_several_terms_are_named_by_their_signs():
    side = (Term("a", "zsl", "x", 1), Term("b", "zsl", "x", -1), Term("c", "zsl", "y", 1), Term("d", "zsl", "y", -1))
    assert named("digits", side) == "digits: a x + c y - b x - d y"
    assert named("digits", side[:2]) == "digits: a - b (x)"
