from __future__ import annotations

import os
import warnings
from pathlib import Path

import ewnmf

project = "ewnmf"
author = "The ewnmf developers"
copyright = f"2026, {author}"
release = ewnmf.__version__
version = release

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
# Pages that are included: by choosing-gamma.md, and the last one of ours by repair.md.
exclude_patterns = [
    "_build",
    "_templates",
    "choosing-gamma-results.md",
    "choosing-gamma-rules.md",
    "choosing-gamma-damage.md",
    "repair-study.md",
    "sg_execution_times.rst",
    "gallery/sg_execution_times.rst",
    "tutorials/sg_execution_times.rst",
]
suppress_warnings = ["config.cache"]
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "groupwise"
autodoc_typehints = "none"
autosummary_generate = True
autosummary_imported_members = True
numpydoc_show_class_members = False

# Links into the documentation of others need the network, which is not everywhere: asked for by the environment.
if os.environ.get("EWNMF_DOCS_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "matplotlib": ("https://matplotlib.org/stable", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "pandas": ("https://pandas.pydata.org/docs", None),
        "python": ("https://docs.python.org/3", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

# Examples are run where the environment asks for it ("make gallery"); else their code alone is shown.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples/gallery", "../examples/tutorials"],
    "gallery_dirs": ["gallery", "tutorials"],
    "filename_pattern": "/(plot|tutorial)_",
    "within_subsection_order": "FileNameSortKey",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("ewnmf",),
    "reference_url": {"ewnmf": None},
    "nested_sections": False,
    "default_thumb_file": str(Path(__file__).parent / "images" / "reproduction" / "fig1.png"),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "ignore_repr_types": r"matplotlib",
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "plot_gallery": bool(os.environ.get("EWNMF_GALLERY")),
}
# Examples end with plt.show(), which has nothing to show here.
warnings.filterwarnings("ignore", category=UserWarning, message=".*non-interactive.*")

html_theme = "pydata_sphinx_theme"
html_title = f"ewnmf {release}"
html_static_path = ["_static"]
html_css_files = ["ewnmf.css"]
html_show_sourcelink = False
html_sidebars = {"index": [], "start": []}
html_theme_options = {
    "logo": {"text": "ewnmf"},
    "show_prev_next": False,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "navbar_persistent": ["search-button"],
    # Not of examples, whose code needs the width; patterns must not overlap.
    "secondary_sidebar_items": {pages: ["page-toc"] for pages in ("*", "about/**", "api/**", "guide/**")},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
