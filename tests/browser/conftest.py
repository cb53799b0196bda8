"""Reports in headless Chromium: ``make test-browser``. Left out elsewhere, since a browser is no part of Python.

``EWNMF_CHROMIUM`` names the program where it is neither ``chromium`` nor ``google-chrome``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

collect_ignore_glob = [] if os.environ.get("EWNMF_BROWSER") else ["*"]

QUICK: dict[str, Any] = {"tol": 0, "max_iter": 40, "random_state": 0}
EVIL = "<script>alert(1)</script>"


def _table(folder: Path) -> Path:
    from ewnmf import Repairer, report
    from ewnmf.datasets import make_sensors

    X, names = make_sensors(260, 9, kind="periodic", return_names=True, random_state=0)
    X[50:90, 3], X[110:170, 7], X[20:24, 1] = 0, 0, np.nan
    called = [*names[:3], EVIL, "مضخة ٣", "温度", *names[6:]]
    table = pd.DataFrame(X, columns=called, index=[f"hour {i}" for i in range(len(X))])
    return report.write(Repairer(3, random_state=0).fit(table), table, folder / "table.html", title=f"Sensors {EVIL}")


def _images(folder: Path) -> Path:
    from ewnmf import EWNMF, report

    digits = load_digits()
    X = digits.data[:120].copy()
    X[::4].reshape(-1, 8, 8)[:, :3, :3] = 16
    model = EWNMF(6, gamma="4x", **QUICK).fit(X)
    return report.write(model, X, folder / "images.html", labels=digits.target[:120], title="Digits")


def _words(folder: Path) -> Path:
    from ewnmf import NMF, report

    rng = np.random.default_rng(0)
    topics = rng.random((3, 200)) < 0.05
    X = csr_array(rng.poisson(0.05 + 2.0 * topics[rng.integers(0, 3, 150)]).astype(float))
    model = NMF(3, loss="kullback-leibler", **QUICK).fit(X)
    return report.write(model, X, folder / "words.html", feature_names=[f"word{j}" for j in range(200)], title="Texts")


def _series(folder: Path) -> Path:
    from ewnmf import EWNMF, report
    from ewnmf.datasets import make_spectra

    X = np.asarray(make_spectra(60, 80, random_state=0))
    X[:6, 30:36] += 2 * X.max()
    return report.write(EWNMF(3, gamma="4x", **QUICK).fit(X), X, folder / "series.html", kind="series", title="Spectra")


MAKERS: dict[str, Callable[[Path], Path]] = {"table": _table, "images": _images, "words": _words, "series": _series}


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The report of that kind of data, written once."""
    folder = tmp_path_factory.mktemp("reports")

    def written(kind: str) -> Path:
        path = folder / f"{kind}.html"
        return path if path.exists() else MAKERS[kind](folder)

    return written


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's browser."""
    from playwright.sync_api import sync_playwright

    names = (os.environ.get("EWNMF_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    program = next((found for name in names if name and (found := shutil.which(name))), None)
    if program is None:
        pytest.fail("there is no Chromium here: apt-get install chromium, or name the program in EWNMF_CHROMIUM.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Opened:
    """A page, what it wrote to the console, and what it asked the network for."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page = page
        self.console: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.console.append(message.text))
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.on("dialog", lambda dialog: self.console.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(path.as_uri())

    def check(self) -> None:
        """Nothing was written or asked for, but the file itself and images in it."""
        assert self.console == []
        assert [url for url in self.requests if not url.startswith(("file:", "data:"))] == []


@pytest.fixture
def opened(chromium: Any, reports: Any) -> Iterator[Callable[..., Opened]]:
    """Open the report of that kind of data."""
    contexts = []

    def open_(kind: str, width: int = 1200, **settings: Any) -> Opened:
        contexts.append(chromium.new_context(viewport={"width": width, "height": 800}, **settings))
        return Opened(contexts[-1].new_page(), reports(kind))

    yield open_
    for context in contexts:
        context.close()
