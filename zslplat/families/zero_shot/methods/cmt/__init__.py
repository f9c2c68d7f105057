"""Cross-modal transfer (Socher et al., 2013): a network from features to signatures, and gates on novelty over it.

``network``: the objective with its gradient; ``transfer``: ``cmt``;
``outliers``: how new a row is; ``novelty``: ``cmt-gaussian`` and ``cmt-loop``.
"""
