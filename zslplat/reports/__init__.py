"""One HTML file of a study, a suite or a store, which needs no network.

- ``contents.py``: which results a report is of, as plain values; ``artifacts.py``: the tables and pictures that
  evaluations left;
- ``overview.py``: the first screen and what is folded below it; ``leaderboard.py``, ``curves.py``, ``study.py``,
  ``provenance.py``: its parts as blocks (``blocks.py``: words, tables, charts);
- ``charts.py``: charts as SVG whose colours are variables of the page's style sheet;
- ``page.py``, ``templates/``: blocks as HTML, and the file.
"""
