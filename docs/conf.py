from __future__ import annotations

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
    "sphinx.ext.mathjax",
]
# Pages that are included: by choosing-gamma.md, and the last one by repair.md.
exclude_patterns = [
    "_build",
    "choosing-gamma-results.md",
    "choosing-gamma-rules.md",
    "choosing-gamma-damage.md",
    "repair-study.md",
]
myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"ewnmf {release}"
