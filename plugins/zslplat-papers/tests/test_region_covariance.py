"""Region covariances of images, as the papers on kernel coding have them."""

import numpy as np
import pytest

from zslplat.data.source import DataPlaces
from zslplat.errors import DataError, UsageError
from zslplat_papers.data_sets.region_covariance import RegionCovariance, gabor_wavelets, region_covariances


def test_region_covariances_are_symmetric_positive_definite_and_see_orientation():
    u = np.arange(24)
    stripes = np.stack([np.tile(np.sin(u), (24, 1)), np.tile(np.sin(u), (24, 1)).T])
    noise = np.random.default_rng(0).normal(size=(2, 24, 24))
    P = region_covariances(np.concatenate([stripes, noise]))
    assert P.shape == (4, 25, 25)
    np.testing.assert_array_equal(P, P.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(P).min() > 0
    # Exchanging the axes of the image exchanges the derivatives.
    np.testing.assert_allclose(P[0][1, 1], P[1][2, 2], rtol=1e-9)
    np.testing.assert_allclose(P[0][3, 3], P[1][4, 4], rtol=1e-9)
    integer = (255 * (stripes + 1) / 2).round().astype(np.uint8)
    np.testing.assert_allclose(region_covariances(integer), region_covariances(integer / 255.0))
    with pytest.raises(DataError, match="one colour"):
        region_covariances(np.ones((1, 9, 9)))
    with pytest.raises(DataError, match="8 x 8"):
        region_covariances(np.ones((4, 64)))
    with pytest.raises(DataError, match="8 x 8"):
        region_covariances(np.random.default_rng(0).random((1, 7, 9)))


def test_gabor_wavelets_answer_to_their_own_frequency_and_not_to_a_constant():
    wavelets = gabor_wavelets((64, 64))
    assert len(wavelets) == 20
    u = np.arange(64)
    for s, wavelet in enumerate(wavelets[:3]):
        assert abs(wavelet.sum()) < 1e-3 * np.abs(wavelet).sum()
        responses = []
        for t in range(3):
            wave = np.tile(np.cos(np.pi / 2 * 2 ** (-t / 2) * u), (64, 1))
            responses.append(np.abs(np.fft.ifft2(np.fft.fft2(wave) * np.fft.fft2(wavelet)))[20:44, 20:44].mean())
        assert int(np.argmax(responses)) == s


def test_a_file_of_images_becomes_a_data_set_of_covariances(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "images.npz", pictures=rng.integers(0, 255, (6, 10, 12)).astype(np.uint8), y=np.arange(6) % 2)
    dataset = RegionCovariance(path=str(tmp_path / "images.npz"), X="pictures").load(DataPlaces())
    assert dataset.X.shape == (6, 25, 25)
    other = RegionCovariance(path=str(tmp_path / "images.npz"), X="pictures", epsilon=0.1).load(DataPlaces())
    assert dataset.fingerprint != other.fingerprint
    with pytest.raises(UsageError, match="holds the images"):
        RegionCovariance(path=str(tmp_path / "images.npz")).load(DataPlaces())
