"""The paper's public data sets, its synthetic signals, occlusion, and its scaling of the points.

Rows of ``data`` are points. Every ``fetch_...`` function looks into one folder (`data_home`, else the
environment variable ``EWNMF_DATA``, else the user's cache folder), uses what it finds there without any
network, and downloads only what is missing.
"""

from __future__ import annotations

from ewnmf.datasets._fetch import fetch_caltech101, fetch_gtfd, fetch_tdt2, fetch_umist, fetch_yale
from ewnmf.datasets._scaling import scale_points, unscale_points
from ewnmf.datasets._synthetic import make_mixed_signals, occlude

__all__ = [
    "fetch_caltech101",
    "fetch_gtfd",
    "fetch_tdt2",
    "fetch_umist",
    "fetch_yale",
    "make_mixed_signals",
    "occlude",
    "scale_points",
    "unscale_points",
]
