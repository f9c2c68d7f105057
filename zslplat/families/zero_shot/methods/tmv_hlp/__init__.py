"""TMV-HLP: transductive multi-view hypergraph label propagation.

Fu, Hospedales, Xiang, Fu and Gong, "Transductive Multi-view Embedding for Zero-Shot Recognition and Annotation", ECCV
2014; the details that the paper leaves open are those of the authors' published MATLAB code.

| of the paper | where |
|---|---|
| semantic projections of the rows: regressed signatures, probabilities of attributes | ``graphs`` |
| multi-view CCA, projections weighted by powers of the eigenvalues | ``graphs`` |
| nearest neighbours within a view and across two views | ``graphs`` |
| prototypes and their self-training; 2-graphs, weights of views, hyperedges | ``graphs`` |
| label propagation | ``graphs`` |
| the method (``tmv-hlp``) | ``estimator`` |

What differs from the published code: all views are projected from the mean of the batch (there two of three are not);
counts of rows are relative to the rows per class (there they are those of AwA); a match across views counts even where
it is the nearest (there the first is dropped, as within a view, where it is the node itself); labels are propagated
once (there the result is multiplied by the same matrix up to twenty times, and the best count taken by test accuracy,
as are the weights of the graphs). What is changed for the sake of size is said in each file.
"""
