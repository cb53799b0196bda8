"""Copy what landing page and README show from the gallery: ``make gallery``, then ``python docs/pictures.py``."""

from __future__ import annotations

import shutil
from pathlib import Path

DOCS = Path(__file__).parent
PICTURES = {
    "photo.png": "gallery/images/sphx_glr_plot_03_photo_002.png",
    "sensors.png": "gallery/images/sphx_glr_plot_01_sensors_002.png",
    "door-sensors.png": "gallery/images/thumb/sphx_glr_plot_01_sensors_thumb.png",
    "door-images.png": "gallery/images/thumb/sphx_glr_plot_04_spectra_thumb.png",
    "door-text.png": "gallery/images/thumb/sphx_glr_plot_05_topics_thumb.png",
}

if __name__ == "__main__":
    for name, source in PICTURES.items():
        shutil.copyfile(DOCS / source, DOCS / "images" / "gallery" / name)
