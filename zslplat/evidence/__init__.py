"""The recorded evaluations of a store as one typed table, from which comparisons, reports and suites take columns.

- ``results.py``: a row of the table, what is recorded of one study, single run or sweep, and one row per experiment;
- ``table.py``: the table of a store, read on demand, and errors that say what it has instead;
- ``scores.py``: the numbers of a result that statistics are made of;
- ``draws.py``: one entry of several draws of the classes of a data set, such as class folds;
- ``matching.py``: which results a name, a pattern or a filter selects;
- ``labels.py``: the short names that tables and charts show.
"""
