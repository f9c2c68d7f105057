"""Clustering accuracy and normalised mutual information against their definitions."""

import itertools

import numpy as np
import pytest

from zslplat.metrics.accuracy import (
    cluster_counts,
    clustering_accuracy,
    expected_random_accuracy,
    matched_classes,
    normalised_mutual_information,
)


def labelling(seed, n=60, classes=4):
    rng = np.random.default_rng(seed)
    return rng.integers(0, classes, n), rng.integers(0, classes, n)


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_is_the_best_over_all_permutations(seed):
    true, clusters = labelling(seed)
    best = max(np.mean(np.array(order)[clusters] == true) for order in itertools.permutations(range(4)))
    assert clustering_accuracy(true, clusters, 4) == pytest.approx(best)


def test_names_of_clusters_do_not_matter():
    true, clusters = labelling(1)
    renamed = np.array([2, 0, 3, 1])[clusters]
    assert clustering_accuracy(true, renamed, 4) == clustering_accuracy(true, clusters, 4)
    assert normalised_mutual_information(true, renamed) == pytest.approx(normalised_mutual_information(true, clusters))


def test_a_perfect_clustering_scores_one_and_a_single_cluster_its_largest_class():
    true = np.array([0, 0, 0, 1, 1, 2])
    assert clustering_accuracy(true, np.array([2, 2, 2, 0, 0, 1]), 3) == 1
    assert normalised_mutual_information(true, np.array([2, 2, 2, 0, 0, 1])) == pytest.approx(1)
    assert clustering_accuracy(true, np.zeros(6, dtype=int), 3) == pytest.approx(0.5)
    assert normalised_mutual_information(true, np.zeros(6, dtype=int)) == 0


@pytest.mark.parametrize("seed", range(3))
def test_mutual_information_is_normalised_by_the_larger_or_the_mean_entropy(seed):
    true, clusters = labelling(seed)
    clusters = np.minimum(clusters, 2)
    joint = cluster_counts(true, clusters, 4).T / len(true)
    p, q = joint.sum(axis=1), joint.sum(axis=0)
    information = sum(
        joint[i, j] * np.log(joint[i, j] / (p[i] * q[j])) for i in range(4) for j in range(3) if joint[i, j] > 0
    )
    entropies = [-np.sum(v * np.log(v)) for v in (p, q)]
    assert normalised_mutual_information(true, clusters) == pytest.approx(information / max(entropies))
    mean = information / np.mean(entropies)
    assert normalised_mutual_information(true, clusters, "arithmetic") == pytest.approx(mean)


def test_more_clusters_than_classes_leave_some_without_a_class():
    counts = np.array([[5, 0], [0, 4], [1, 1]])
    assert matched_classes(counts).tolist() == [0, 1, -1]
    true, clusters = np.repeat([0, 1, 0, 1], [5, 4, 1, 1]), np.repeat([0, 1, 2, 2], [5, 4, 1, 1])
    assert clustering_accuracy(true, clusters, 2) == pytest.approx(9 / 11)


def test_random_clusters_reach_a_little_more_than_one_class():
    few, many = np.repeat(np.arange(5), 6), np.repeat(np.arange(5), 600)
    assert expected_random_accuracy(few, 5) > expected_random_accuracy(many, 5) > 0.2
    assert expected_random_accuracy(many, 5) < 0.23
    assert expected_random_accuracy(few, 5) == expected_random_accuracy(few, 5)
