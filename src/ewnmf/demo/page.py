"""The report on the demonstration's first table."""

from __future__ import annotations

from pathlib import Path

from ewnmf import report
from ewnmf.datasets import make_damage, make_sensors
from ewnmf.demo.repair import NATURES, SENSORS, SOURCES, TIMES
from ewnmf.estimators.repairer import Repairer

__all__ = ["PAGE", "write_page"]

PAGE = "demo-report.html"


def write_page(output: Path) -> Path:
    """Mend the first table of sensors once more, and write what was found of it as a page to look at."""
    clean, names = make_sensors(TIMES, SENSORS, kind=NATURES[0], n_sources=SOURCES, return_names=True, random_state=0)
    data, _ = make_damage(clean, "faults", random_state=0)
    model = Repairer(SOURCES, random_state=0).fit(data)
    return report.write(model, data, output / PAGE, feature_names=names, title="Sensors, some of them damaged")
