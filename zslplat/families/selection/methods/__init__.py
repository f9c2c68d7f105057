"""Feature selection: rank the features with seen classes only, so that they tell unseen classes apart.

SemFS (Wang et al., "Zero-shot Feature Selection via Transferring Supervised Knowledge"):

| of the paper | where |
|---|---|
| the estimator (``semfs``, and ``semfs-c`` without class centres) | ``semfs`` |
| Eq. 1 and 4: k features, before any relaxation | ``solvers`` |
| Eq. 3 and 5: the quadratic part; Eq. 8: the step for W | ``regression`` |
| Eq. 10 and 11: the step for s; Algorithm 1 | ``solvers`` |
| Eq. 5 under |s|^2 <= k, as a convex problem | ``solvers`` |
| what Eq. 5 needs of the rows | ``regression`` |
| directions of the signatures made more equally strong | ``regression`` |

Each competitor of the paper has a file of its own, named as it is registered; the plain ones are in ``baselines``.
"""
