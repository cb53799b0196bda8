"""What a user waits for at first: imports, and the first fit of a fresh install."""

from __future__ import annotations

from tempfile import TemporaryDirectory

from benchmarks.children import run_child
from benchmarks.plan import Plan
from benchmarks.report import Section, Table, Target, figures

__all__ = ["seconds_of", "section"]

CLOCK = "import time; start = time.perf_counter(); {timed}; print(time.perf_counter() - start)"
PACKAGE = "import ewnmf"
ESTIMATOR = "from ewnmf import EWNMF"
PEER = "from sklearn.decomposition import NMF"
FIT = "EWNMF(5, gamma=0.1, max_iter=10, tol=0, loss={loss!r}, random_state=0).fit(X)"
DATA = "import numpy; from ewnmf import EWNMF; X = numpy.random.default_rng(0).random((150, 50))"


def seconds_of(timed: str, before: str = "pass", **environment: str) -> float:
    """Seconds for the statement `timed` in a fresh process, after the statement `before`."""
    return float(run_child("-c", f"{before}; {CLOCK.format(timed=timed)}", **environment))


def _first_fits(loss: str) -> tuple[float, float]:
    """Seconds of the first fit in a process: with nothing compiled yet, and with everything kept by the one before."""
    with TemporaryDirectory() as folder:
        cold, warm = (seconds_of(FIT.format(loss=loss), DATA, NUMBA_CACHE_DIR=folder) for _ in range(2))
    return cold, warm


def section(plan: Plan) -> Section:
    """Imports and first fits."""
    rounds = range(plan.children)
    imports = min(seconds_of(PACKAGE) for _ in rounds)
    peer = min(seconds_of(PEER) for _ in rounds)
    estimator = min(seconds_of(ESTIMATOR, PEER) for _ in rounds)
    fits = {loss: _first_fits(loss) for loss in ("euclidean", "kullback-leibler")}
    cold, warm = fits["euclidean"]
    kl = fits["kullback-leibler"]
    targets = [
        Target(f"`{PACKAGE}`", "cold start", imports, "below", 0.5, " s"),
        Target(
            f"`{ESTIMATOR}` beyond importing scikit-learn's NMF",
            "cold start",
            estimator,
            "below",
            0.2,
            " s",
            f"the latter {peer:.2f} s",
        ),
        Target(
            "first fit of a fresh install beyond a warm one",
            "cold start",
            cold - warm,
            "at most",
            2.5,
            " s",
            f"kullback-leibler {kl[0] - kl[1]:.2f} s",
        ),
    ]
    rows = [
        [f"`{PACKAGE}`", figures(imports)],
        [f"`{PEER}`", figures(peer)],
        [f"`{ESTIMATOR}`, after it", figures(estimator)],
        *([f"first fit, {loss}, compiled anew", figures(times[0])] for loss, times in fits.items()),
        *([f"first fit, {loss}, compiled before", figures(times[1])] for loss, times in fits.items()),
    ]
    words = (
        f"In fresh processes, the best of {plan.children}; the fits (150 x 50, K 5, 10 iterations, without imports) "
        "once, with an empty folder for compiled code and again with what was kept there."
    )
    return Section("Cold start", targets, [words, Table(["", "s"], rows)])
