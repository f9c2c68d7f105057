"""One HTML file of a study, a suite or a store, which needs no network.

- ``contents.py``, ``suite_findings.py``: which results a report is of, as plain values; ``artifacts.py``: the tables
  and pictures that evaluations left;
- ``sections/``: contents as blocks of a page (``blocks.py``: words, tables, charts);
- ``charts/``: charts as SVG whose colours are variables of the page's style sheet;
- ``page.py``, ``templates/``: blocks as HTML, and the file.
"""
