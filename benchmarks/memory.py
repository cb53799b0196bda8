"""Peak memory of a run above the data, the factors and a warmed-up process; each contender in a process of its own."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from benchmarks.children import run_child
from benchmarks.contenders import ORDER, OTHER_ORDER, ours, plain_numpy, scikit_learn
from benchmarks.plan import Plan
from benchmarks.problems import Problem, random_problem, size
from benchmarks.report import Section, Table, Target
from benchmarks.timing import Work

__all__ = ["extra_peak", "section"]

MEGABYTE = 1e6
ITERATIONS = 3
WORDS = """\
Peak of a run of {iterations} iterations in a process of its own, warmed up on a small problem, above what was there
before (with `X`, {data:.0f} MB, and the start) and the returned factors; measured by {how}. Zero means that it fits
into memory that the warm-up left behind."""
CONTENDERS: dict[str, Callable[[Problem], Work]] = {
    "EWNMF": ours,
    f"EWNMF, {OTHER_ORDER}": lambda problem: ours(problem, order=OTHER_ORDER),
    'EWNMF, solver="accelerated"': lambda problem: ours(problem, solver="accelerated"),
    "EW-KL": lambda problem: ours(problem, loss="kullback-leibler"),
    "NumPy transcription": plain_numpy,
    "scikit-learn mu, unweighted": scikit_learn,
}


def extra_peak(name: str, problem: Problem) -> tuple[float, str]:
    """Bytes at the peak of a run above those before it and those of the returned factors, and how it was measured."""
    CONTENDERS[name](random_problem(40, 16, 2))(2)
    work, factors = CONTENDERS[name](problem), problem.codes.nbytes + problem.components.nbytes
    peak = _resident_growth(work)
    if peak is not None:
        return peak - factors, "resident pages (VmHWM)"
    tracemalloc.start()
    work(ITERATIONS)
    return tracemalloc.get_traced_memory()[1] - factors, "tracemalloc"


def _resident_growth(work: Work) -> float | None:
    """The resident peak of a run above what was resident before, or None where Linux's counters are not to be had."""
    status = Path("/proc/self/status")
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return None
    before = _counter(status, "VmRSS")
    work(ITERATIONS)
    return _counter(status, "VmHWM") - before


def _counter(status: Path, name: str) -> float:
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith(f"{name}:"))
    return 1024.0 * float(line.split()[1])


def section(plan: Plan) -> Section:
    """The table of peaks, and the target for ours."""
    shape = tuple(map(str, plan.large))
    answers = {name: run_child("-m", "benchmarks.memory", name, *shape).split("\t") for name in CONTENDERS}
    peaks = {name: float(answer[0]) / MEGABYTE for name, answer in answers.items()}
    other = f"EWNMF, {OTHER_ORDER}"
    target = Target(
        "peak memory above `X`, factors and a warmed-up process",
        size(plan.large),
        peaks["EWNMF"],
        "below",
        64,
        " MB",
        f"{OTHER_ORDER} {peaks[other]:.1f} MB",
    )
    n, m, _ = plan.large
    how = " and ".join(sorted({answer[1] for answer in answers.values()}))
    words = WORDS.format(iterations=ITERATIONS, data=n * m * 8 / MEGABYTE, how=how)
    rows = [[name, f"{max(peak, 0):.1f}"] for name, peak in peaks.items()]
    return Section("Memory", [target], [words, Table([f"{size(plan.large)}, order {ORDER}", "MB"], rows)])


if __name__ == "__main__":
    _name, *_shape = sys.argv[1:]
    sys.stdout.write("\t".join(map(str, extra_peak(_name, random_problem(*map(int, _shape))))))
