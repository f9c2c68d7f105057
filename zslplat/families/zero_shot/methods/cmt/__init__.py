"""Cross-modal transfer (Socher et al., 2013): a network from features to signatures, and gates on novelty over it.

``transfer``: the objective with its gradient, and ``cmt``; ``novelty``: how new a row is, ``cmt-gaussian`` and
``cmt-loop``.
"""
