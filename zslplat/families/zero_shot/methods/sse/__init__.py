"""Semantic similarity embedding (Zhang and Saligrama, ICCV 2015).

| what | where |
|---|---|
| the estimators ``sse-int`` and ``sse-relu``, the formulas, and where they depart from the paper | ``estimator`` |
| the max-margin objective and its slopes | ``objective`` |
| the alternation between weights and references | ``objective`` |
| min(x, v) against weights, compiled | ``objective`` |

The codes of signatures are in :mod:`zslplat.families.zero_shot.methods.simplex`.
"""
