"""The paper's public data sets, its synthetic signals, known damage, sensors, spectra, and its scaling of the points.

Rows of ``data`` are points. Every ``fetch_...`` function looks into one folder (`data_home`, else the
environment variable ``EWNMF_DATA``, else the user's cache folder), uses what it finds there without any
network, and downloads only what is missing.
"""

from __future__ import annotations

from ewnmf.datasets._damage import DAMAGES, make_damage
from ewnmf.datasets._fetch import fetch_caltech101, fetch_gtfd, fetch_tdt2, fetch_umist, fetch_yale
from ewnmf.datasets._scaling import scale_points, unscale_points
from ewnmf.datasets._sensors import make_sensors
from ewnmf.datasets._spectra import make_spectra
from ewnmf.datasets._synthetic import make_mixed_signals, occlude

__all__ = [
    "DAMAGES",
    "fetch_caltech101",
    "fetch_gtfd",
    "fetch_tdt2",
    "fetch_umist",
    "fetch_yale",
    "make_damage",
    "make_mixed_signals",
    "make_sensors",
    "make_spectra",
    "occlude",
    "scale_points",
    "unscale_points",
]
