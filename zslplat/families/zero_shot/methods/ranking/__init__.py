"""Ranking methods: ALE, DeViSE, SJE and LatEm, compatibilities x W s' that are trained on ranking losses.

A row x of class y is compatible with class c by F(x, c) = x W s_c', and each method pays where a wrong class comes
within a margin of the right one. Rows are samples here.

| papers   | here   | shape  | meaning                                                                           |
|----------|--------|--------|-----------------------------------------------------------------------------------|
| theta(x) | X[i]   | (n, d) | features                                                                          |
| phi(y)   | S[c]   | (c, a) | signature                                                                         |
| W, W_k   | W      | (d, a) | the map; of LatEm K maps, (K, d, a)                                               |
| F        | F      | (b, c) | compatibilities of the rows of a mini-batch                                       |
| Delta, m | margin | scalar | by how much the right class has to lead                                           |
| eta      | rate   | scalar | step, in units of margin / (mean squared norm of rows times that of signatures)   |

With l_c = margin + F(x, c) - F(x, y) for the wrong classes c, violators those with l_c > 0, and r their number, a row
costs

| method     | loss of a row                                                                                    |
|------------|--------------------------------------------------------------------------------------------------|
| ``ale``    | beta_r / r times the sum of all l_c > 0, beta_r = 1 + 1/2 + ... + 1/r                            |
| ``devise`` | the sum of all l_c > 0                                                                           |
| ``sje``    | the largest l_c, if above 0                                                                      |
| ``latem``  | l_c of one wrong class drawn at random, if above 0, with F(x, c) = max_k x W_k s_c'              |

:mod:`estimator` has these with their slopes by F, the one loop of mini-batches and what the estimators share,
:mod:`methods` the methods. With one row a batch it is the stochastic gradient descent of the papers' codes.
"""
