"""Built-in data sets hold what they held: what is recorded on them stays comparable."""

import numpy as np
import pytest

from zslplat import load_dataset

# Shape, mean, standard deviation, least and largest value; mean and standard deviation of the signatures.
HELD = {
    "digits": ((1797, 64), (0.0788, 0.0970, 0, 0.3203), None),
    "digit-pairs": ((4800, 128), (0.3055, 0.3763, 0, 1), (0.7, 0.4583)),
    "digit-sets": ((1200, 192), (0.1906, 0.3268, 0, 1), None),
    "digit-retrieval": ((2997, 64), (0.3442, 0.2726, 0, 1), None),
    "shared-space": ((2800, 64), (-0.0077, 0.1248, -0.4940, 0.4583), (0.0054, 0.1249)),
    "synthetic": ((6000, 256), (0.9021, 1.4460, 0, 15.9165), (0.4866, 0.3129)),
}


@pytest.mark.parametrize("name", HELD)
def test_a_built_in_data_set_is_drawn_as_it_was(name):
    """To three digits: the last ones depend on the libraries and the processor."""
    shape, of_rows, of_signatures = HELD[name]
    dataset = load_dataset(name)
    X = np.asarray(dataset.X[:], dtype=np.float64)
    assert X.shape == shape
    np.testing.assert_allclose([X.mean(), X.std(), X.min(), X.max()], of_rows, atol=2e-4)
    if of_signatures is not None:
        S = dataset.signature_set().values
        np.testing.assert_allclose([S.mean(), S.std()], of_signatures, atol=2e-4)
