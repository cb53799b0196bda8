"""Everything people use instead, side by side."""

from __future__ import annotations

from benchmarks import pictures
from benchmarks.peers import EWNMF, PEERS
from benchmarks.plan import Plan
from benchmarks.problems import random_problem, size
from benchmarks.report import Section, Table, milliseconds
from benchmarks.timing import per_iteration

__all__ = ["section"]


def section(plan: Plan) -> Section:
    """Time per iteration of all installed packages; those that are not installed are named."""
    present = [peer for peer in PEERS if not peer.missing]
    times = {}
    for shape, counts in ((plan.middle, plan.counts_middle), (plan.large, plan.counts_large)):
        problem = random_problem(*shape)
        contenders = {peer.name: peer.make(problem) for peer in present}
        times[size(shape)] = per_iteration(contenders, _with_checks(counts), plan.rounds, pause=plan.pause)
    rows = [
        [peer.name, peer.does, *(cell for at in times.values() for cell in _cells(at, peer.name))] for peer in present
    ]
    head = ["", "an iteration", *(cell for shape in times for cell in (f"{shape}: ms", "relative"))]
    skipped = [f"{peer.name} is skipped; not installed: {', '.join(peer.missing)}." for peer in PEERS if peer.missing]
    words = (
        "Iterations of different algorithms: an unweighted one does a third of the arithmetic of a weighted one, and "
        "coordinate descent gets further per iteration. torchnmf looks at its error every tenth iteration, and that "
        "is counted."
    )
    bars = {shape: {peer.name: at[peer.name] for peer in present} for shape, at in times.items()}
    weighted = {peer.name for peer in present if peer.does.startswith("weights")}
    return Section("Other packages", (), [words, Table(head, rows, left=2), *skipped, *pictures.bars(bars, weighted)])


def _with_checks(counts: tuple[int, int]) -> tuple[int, int]:
    """Numbers of iterations a multiple of ten apart, so that work of every tenth iteration is counted in full."""
    few, many = counts
    return few, few + max(10, (many - few) // 10 * 10)


def _cells(times: dict[str, float], name: str) -> list[str]:
    return [milliseconds(times[name]), f"{times[name] / times[EWNMF]:.2f}"]
