"""One HTML file of a study, a suite or a store, which needs no network.

- ``facts.py``, ``reading.py``, ``selection.py``, ``recorded_files.py``: what the records hold, as plain values;
- ``sections/``: facts as blocks of a page (words, tables, charts);
- ``charts/``: charts as SVG whose colours are variables of the page's style sheet;
- ``page/``: blocks as HTML, and the file.
"""
