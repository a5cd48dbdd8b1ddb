"""Sphinx configuration; `make docs` builds without warnings and without a network."""

import sklearn_mirt

project = "sklearn-mirt"
author = copyright = "The sklearn-mirt developers"
release = version = sklearn_mirt.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": ("_repr_html_",),  # not "<Display object at 0x...>"
    "remove_config_comments": True,
}
html_theme = "pydata_sphinx_theme"
html_title = "sklearn-mirt"  # with the version the header is too wide for a phone
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
html_show_sourcelink = False
# docstrings that come from scikit-learn refer to its own glossary
suppress_warnings = ["config.cache", "ref.ref", "ref.term"]
