"""Exemplar machines: one classifier per image against a common pool of negatives, and what they compete with.

Rezende et al., "Kernel Square-Loss Exemplar Machines for Image Retrieval":

| of the paper | where |
|---|---|
| linear machines (``slem``) | ``slem`` |
| the kernel form (``kslem``): K = B B', coordinates v and u of an exemplar | ``kslem`` |
| the rows that span B | ``moments`` |
| the machine of an exemplar in closed form; similarity of two | ``machine`` |
| mean and covariance of the negatives | ``moments`` |
| what both kinds of machines share: scores, decision values | ``slem`` |

Competitors: ``baselines``. A gallery on disk: ``index``.
"""
