"""Settings of the site: `make docs` builds it into build/site."""

import re
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import generated_pages  # noqa: E402

import bayesfloor  # noqa: E402

project = "bayesfloor"
copyright = "2026, the bayesfloor developers"
release = version = bayesfloor.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # MathJax among the files of the site, which works from disk without a network
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["**/README.rst", "**/sg_execution_times.rst", "sg_execution_times.rst"]
nitpicky = False  # types in docstrings are words; docs/check_site.py looks at every link of the built pages
default_role = "py:obj"  # `estimate` in a docstring is a link where it can be one
highlight_language = "none"  # indented blocks are formulas and commands
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
suppress_warnings = ["config.cache"]  # settings with functions in them, which cannot be kept between builds

smartquotes = False  # -- is how options begin
toc_object_entries_show_parents = "hide"

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_attributes_as_param_list = True

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": ["../tutorials", "../examples"],
    "gallery_dirs": ["tutorial", "gallery"],
    "filename_pattern": r"\.py$",
    "within_subsection_order": generated_pages.in_reading_order,
    "backreferences_dir": "reference/used_in",
    "doc_module": ("bayesfloor",),
    "abort_on_example_error": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "capture_repr": (),
}
warnings.filterwarnings("ignore", message=".*non-interactive.*", category=UserWarning)

html_theme = "pydata_sphinx_theme"
html_title = "bayesfloor"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("quiet.js", {"priority": 0})]
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # browsers do not let pages on disk fetch each other
html_theme_options = {
    "logo": {"text": "bayesfloor"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}


def _link_inside(app: Any, page: str, source: list[str]) -> None:
    """Links that are right in the repository, as links of the site."""
    text = re.sub(r"\]\(\.\./benchmarks/results/([\w.]+\.md)", r"](/evidence/\1", source[0])
    source[0] = re.sub(r"\[([\w/]+/)\]\([\w/]+/\)", r"`docs/\1`", text)  # folders have no page


def _link_pages(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Pages that a docstring names by their file."""
    lines[:] = [re.sub(r"`*\bdocs/(\w+)\.md\b`*", r":doc:`/\1`", line) for line in lines]


def setup(app: Any) -> None:
    """Pages that are made from the code, before anything is read; how formulas are set."""
    generated_pages.write_all(HERE)
    app.config.mathjax_path = "mathjax/tex-svg.js"  # shapes, since browsers may refuse fonts to pages on disk
    app.connect("source-read", _link_inside)
    app.connect("autodoc-process-docstring", _link_pages)
