"""Methods that go through probabilities: of attributes, or of the seen classes.

| method | what is learned | where |
|---|---|---|
| DAP: a probability for each attribute, by a classifier of its own | one binary classifier per attribute | ``dap`` |
| IAP: a probability for each attribute, by those of the seen classes | one classifier of the seen classes | ``iap`` |
| ConSE: the mean of the signatures of the likeliest seen classes | the same | ``conse`` |

Binary signatures, attribute priors and the class score of DAP and IAP are in ``attributes``; the classifiers in
``attribute_classifiers`` and ``seen_classifier``.
"""
