"""How Sphinx builds the site: python docs/build.py, or sphinx-build -W docs docs/_build/html."""

import os
import sys
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "zslplat"
author = "The zslplat developers"
copyright = author
version = release = version_of("zslplat")
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "zslplat_site.extension",
]
exclude_patterns = ["_build", "tutorials/*.ipynb", "tutorials/**/README.md", "sg_execution_times.rst"]
# Everything is read offline: formulas are MathML, fonts and scripts lie beside the pages.
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "zslplat"
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "zslplat"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "show_version_warning_banner": False,
}
# Pages that have no others below them need no list of these.
html_sidebars = {"index": [], "start": [], "cookbook": [], "plugins": []}
highlight_language = "text"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
pygments_style = "default"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# X' is a transpose, and no quotation begins or ends there.
smartquotes = False
# Files beside the documentation, such as ../README.md, are named and not part of the site.
nitpicky = False

sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["tutorials"],
    "filename_pattern": r"[/\\]\d\d_",
    "within_subsection_order": "FileNameSortKey",
    # A reader's own copy shows where a tutorial failed on this machine; a check of the documentation ends there.
    "abort_on_example_error": "ZSLPLAT_DOCS_LENIENT" not in os.environ,
    "only_warn_on_example_error": "ZSLPLAT_DOCS_LENIENT" in os.environ,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 0,
    # Most of a tutorial's time is its commands' start.
    "parallel": 2,
    "write_computation_times": False,
    "reset_modules": ("matplotlib", "zslplat_site.gallery.with_a_store_of_its_own"),
}
# Tutorials run as a reader would run them, with no one to watch progress bars.
os.environ.setdefault("TERM", "dumb")
os.environ.setdefault("MPLBACKEND", "agg")
warnings.filterwarnings("ignore", category=DeprecationWarning)
