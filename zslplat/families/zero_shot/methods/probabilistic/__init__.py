"""Methods that go through probabilities: of attributes, or of the seen classes.

| method | what is learned | where |
|---|---|---|
| DAP: a probability for each attribute, by a classifier of its own | one binary classifier per attribute |
``attribute_prediction`` |
| IAP: a probability for each attribute, by those of the seen classes | one classifier of the seen classes |
``attribute_prediction`` |
| ConSE: the mean of the signatures of the likeliest seen classes | the same | ``conse`` |

The classifier of the seen classes is in ``conse``, those of the attributes in ``attribute_prediction``.
"""
