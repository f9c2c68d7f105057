"""Several signature sets side by side: inner products are weighted sums of cosines."""

import numpy as np
import pytest

from zslplat.data.dataset import Dataset, SignatureSet
from zslplat.errors import DataError, UnknownNameError, UsageError

RNG = np.random.default_rng(0)


def dataset(**sets):
    signatures = {
        "att": SignatureSet(RNG.random((4, 3)), names=("a", "b", "c")),
        "text": SignatureSet(RNG.random((4, 5))),
    }
    return Dataset("toy", RNG.random((8, 2)), np.arange(8) % 4, tuple("wxyz"), signatures={**signatures, **sets})


@pytest.mark.parametrize(
    ("text", "weights"), [("att+text", (1, 1)), ("0.3*att+0.7*text", (0.3, 0.7)), ("2*text+att", (1, 2))]
)
def test_inner_products_are_weighted_sums_of_cosines(text, weights):
    data = dataset()
    S = data.signature_set(text).values
    expected = np.zeros((4, 4))
    for weight, name in zip(weights, ("att", "text"), strict=True):
        values = data.signatures[name].values
        for i in range(4):
            for j in range(4):
                cosine = values[i] @ values[j] / np.linalg.norm(values[i]) / np.linalg.norm(values[j])
                expected[i, j] += weight * cosine
    np.testing.assert_allclose(S @ S.T, expected, atol=1e-12)


def test_a_set_of_weight_0_is_left_out_and_classes_are_put_in_order():
    order = np.array([2, 0, 3, 1])
    values = RNG.random((4, 2))
    data = dataset(mixed=SignatureSet(values, classes=order))
    S = data.signature_set("0*att+mixed").values
    np.testing.assert_allclose(S[order], values / np.linalg.norm(values, axis=1, keepdims=True))


def test_what_cannot_be_joined_is_refused():
    data = dataset(many=SignatureSet(RNG.random((5, 2)), classes=np.array([0, 1, 2, 3, 3])))
    with pytest.raises(UnknownNameError, match="signature set of toy 'txt'"):
        data.signature_set("att+txt")
    for text in ("x*att", "-1*att+text", "0*att", "att+att"):
        with pytest.raises(UsageError, match="weight"):
            data.signature_set(text)
    with pytest.raises(DataError, match="several rows per class"):
        data.signature_set("att+many")
