"""The benchmark command: its arithmetic exactly, its contenders against each other, and a tiny run from end to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import defaults, descent, field, imputation, rank, transcription
from benchmarks.__main__ import main
from benchmarks.children import run_child
from benchmarks.contenders import OTHER_ORDER, ours, paper_orientation
from benchmarks.peers import PEERS, Peer
from benchmarks.plan import QUICK, DataRun
from benchmarks.problems import data_problem, random_problem
from benchmarks.report import Section, Table, Target, figures, page
from benchmarks.timing import best_times, per_iteration
from ewnmf import NMF, Factorization

GOLDEN = Path(__file__).parents[1] / "data" / "golden_small.npz"


class FakeClock:
    """A clock that moves only when somebody works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.log: list[tuple[str, int]] = []

    def __call__(self) -> float:
        return self.now

    def contender(self, name: str, once: float, each: float, noise: list[float]) -> Callable[[int], None]:
        """Costs `once` and `each` per iteration, and `noise` in the order of its runs (none when it is used up)."""

        def work(n_iter: int) -> None:
            self.log.append((name, n_iter))
            self.now += once + each * n_iter + (noise.pop(0) if noise else 0.0)

        return work


def test_best_times_take_turns_and_keep_the_shortest() -> None:
    clock = FakeClock()
    costs = {"a": [4.0, 1.0, 2.0], "b": [3.0, 5.0, 6.0]}

    def task(name: str) -> None:
        clock.log.append((name, 0))
        clock.now += costs[name].pop(0)

    best = best_times({name: partial(task, name) for name in "ab"}, 3, clock=clock)
    assert best == {"a": 1.0, "b": 3.0}
    assert [name for name, _ in clock.log] == list("ababab")


def test_time_per_iteration_leaves_out_what_a_run_costs_once() -> None:
    clock = FakeClock()
    contenders = {
        "steady": clock.contender("steady", once=5.0, each=2.0, noise=[100.0]),
        "noisy": clock.contender("noisy", once=1.0, each=0.5, noise=[0.0, 7.0, 0.0, 0.0, 9.0]),
    }
    times = per_iteration(contenders, (3, 13), 2, clock=clock)
    assert times == {"steady": 2.0, "noisy": 0.5}
    one_round = [("steady", 3), ("steady", 13), ("noisy", 3), ("noisy", 13)]
    assert clock.log == [("steady", 1), ("noisy", 1), *one_round, *one_round]


def test_noise_makes_no_iteration_shorter_than_nothing() -> None:
    clock = FakeClock()
    work = clock.contender("a", once=0.0, each=0.0, noise=[0.0, 3.0, 1.0])
    assert per_iteration({"a": work}, (1, 2), 1, clock=clock)["a"] > 0


@pytest.mark.parametrize(
    ("relation", "measured", "verdict"),
    [
        ("at least", 2.5, "pass"),
        ("at least", 2.4999, "miss"),
        ("at most", 2.5, "pass"),
        ("at most", 2.5001, "miss"),
        ("below", 2.4999, "pass"),
        ("below", 2.5, "miss"),
        ("below", None, "not measured"),
    ],
)
def test_verdicts_are_those_of_the_exact_value(relation: str, measured: float | None, verdict: str) -> None:
    assert Target("what", "where", measured, relation, 2.5).verdict == verdict


def test_a_table_is_aligned_markdown() -> None:
    expected = "| name |  ms |\n| ---- | --: |\n| a    | 1.2 |\n| long |  34 |"
    assert Table(["name", "ms"], [["a", "1.2"], ["long", "34"]]).markdown() == expected


@pytest.mark.parametrize(
    ("value", "text"), [(0.01234, "0.012"), (1.234, "1.23"), (12.34, "12.3"), (123.4, "123"), (1234.5, "1234")]
)
def test_figures_have_no_exponent(value: float, text: str) -> None:
    assert figures(value) == text


def test_the_page_names_what_was_missed_and_what_was_not_measured() -> None:
    targets = [
        Target("fast", "here", 3.0, "at least", 2, beside="other 4"),
        Target("small", "there", 70.0, "below", 64, " MB"),
        Target("absent", "nowhere", None, "at least", 8),
    ]
    text = page([Section("Title", targets, ["words", Table(["a"], [["b"]])])], "a machine")
    assert "| fast   | here    | 3.00     | at least 2  | pass             | other 4   |" in text
    assert "| small  | there   | 70.00 MB | below 64 MB | **miss**         |           |" in text
    assert "1 of 2 measured targets are met. 1 could not be measured here. Missed: small (there): 70.00 MB." in text
    assert "The machine: a machine." in text
    assert text.endswith("## Title\n\nwords\n\n| a   |\n| --- |\n| b   |\n")
    assert "smoke run" not in text
    assert "smoke run" in page([], "a machine", quick=True)


@pytest.mark.parametrize("index", [0, 1, 2])
def test_the_transcription_is_the_authors_program(index: int) -> None:
    golden = np.load(GOLDEN)
    gamma, (M, N) = float(golden["gammas"][index]), golden["X"].shape
    W, H = transcription.run(golden["X"], golden["W0"], golden["H0"], gamma, 100)
    for found, name in ((W, "W"), (H, "H")):
        expected = golden[f"{name}_{index}"]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    bound = golden[f"history_{index}"][-1] + gamma * N * np.log(M)
    assert transcription.excess(golden["X"], W, H, gamma) == pytest.approx(bound, rel=1e-9, abs=1e-12)


def test_ours_and_the_transcription_do_the_same() -> None:
    problem = random_problem(31, 17, 3)
    result = ours(problem, order=OTHER_ORDER)(20)
    assert isinstance(result, Factorization)
    X, W, H = paper_orientation(problem)
    W, H = transcription.run(X, W, H, 0.1, 20)
    np.testing.assert_allclose(result.codes, H.T, rtol=1e-9)
    np.testing.assert_allclose(result.components, W.T, rtol=1e-9)
    assert result.excess == pytest.approx(transcription.excess(X, W, H, 0.1), rel=1e-10)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_contenders_leave_the_shared_start_alone(peer: Peer) -> None:
    if peer.missing:
        pytest.skip(f"{peer.missing} is not installed")
    problem = random_problem(12, 9, 2)
    kept = (problem.X.copy(), problem.codes.copy(), problem.components.copy())
    peer.make(problem)(3)
    for before, after in zip(kept, (problem.X, problem.codes, problem.components), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_race_ends_where_the_transcription_did() -> None:
    problem = data_problem("digits", 4, limit=60)
    result = descent.race(problem, 0.1, QUICK.data[0], QUICK)
    X, W, H = paper_orientation(problem)
    reached = transcription.excess(X, *transcription.run(X, W, H, 0.1, QUICK.iterations), 0.1)
    assert result.excess == reached
    assert result.best == max(result.ratio("mu"), result.ratio("accelerated"))
    seconds, count = result.solvers["mu"]
    assert seconds is not None
    last, before = ours(problem)(count), ours(problem)(count - 1)
    assert isinstance(last, Factorization)
    assert isinstance(before, Factorization)
    assert last.excess <= reached * (1 + 1e-9) < before.excess


def test_a_race_that_is_not_finished_has_no_time() -> None:
    problem = data_problem("digits", 4, limit=60)
    result = descent.race(problem, 0.1, QUICK.data[0], replace(QUICK, most_iterations=1))
    assert result.best == 0
    assert result.words("mu") == "mu: not reached"


def test_data_that_is_not_there_is_skipped_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EWNMF_DATA", str(tmp_path))
    section = descent.section(replace(QUICK, data=(DataRun("umist", "UMIST", 20, 8),), gammas=(0.01, 0.1)))
    assert [target.verdict for target in section.targets] == ["not measured"] * 2
    assert "UMIST is skipped" in section.markdown()
    assert str(tmp_path) not in section.markdown()
    assert "umist.npz" in capsys.readouterr().err


def test_a_package_that_is_not_installed_is_skipped_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Peer("Elsewhere", "unweighted", ours, ("no_such_package_here",))
    monkeypatch.setattr(field, "PEERS", (PEERS[0], absent))
    text = field.section(QUICK).markdown()
    assert "Elsewhere is skipped; not installed: no_such_package_here." in text
    assert "| EWNMF | weights learned" in text


def test_peak_memory_counts_what_a_run_holds() -> None:
    n, m, K = 600, 500, 4
    peak = float(run_child("-m", "benchmarks.memory", "NumPy transcription", str(n), str(m), str(K)).split("\t")[0])
    assert peak > 2 * n * m * 8


def test_a_child_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match="no_such_name"):
        run_child("-c", "no_such_name")


def test_a_tiny_run_writes_page_and_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its figures mean nothing, so that nothing is compiled for them."""
    monkeypatch.setattr("ewnmf.kernels.select._numba_works", lambda: False)
    monkeypatch.setattr(defaults, "MOST", 1)
    monkeypatch.setattr("benchmarks.__main__.QUICK", replace(QUICK, rounds=1))
    sections = ["defaults", "iterations", "descent", "growth", "small", "shares", "packages"]
    assert main(["--quick", "--only", *sections, "--output", str(tmp_path)]) == 0
    text = (tmp_path / "benchmarks.md").read_text(encoding="utf-8")
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == [
        "## Targets",
        "## Defaults, against scikit-learn's",
        "## Time per iteration",
        "## Time to the same objective",
        "## Growth",
        "## Small problems and single points",
        "## Where the time goes",
        "## Other packages",
    ]
    drawn = sorted(path.name for path in (tmp_path / "images").iterdir())
    assert drawn == ["bench-descent.png", "bench-growth.png", "bench-iterations.png"]
    assert all(f"(images/{name})" in text for name in drawn)
    assert text.split("## Targets\n\n")[1].split("\n\n")[0] in capsys.readouterr().out
    assert text.count("EWNMF / scikit-learn **unweighted** mu") >= 2


def test_multiplicative_codes_are_those_of_the_updates() -> None:
    X, gamma = np.random.default_rng(0).random((9, 7)), 0.1
    components = np.random.default_rng(1).random((3, 7)) + 0.1
    codes = defaults.multiplicative_codes(X, components, gamma, max_iter=4, tol=0)
    start = np.repeat(X.sum(axis=1, keepdims=True) / components.sum(), 3, axis=1)
    W, H, T = components.T, start.T, np.full((7, 9), 1 / 7)
    for _ in range(4):
        H = H * (W.T @ (T * X.T)) / (W.T @ (T * (W @ H)))
        T = np.exp(-((X.T - W @ H) ** 2) / gamma)
        T /= T.sum(axis=0)
    np.testing.assert_allclose(codes, H.T, rtol=1e-12)
    excess = defaults.excesses((X - codes @ components) ** 2, gamma).sum()
    assert excess == pytest.approx(transcription.excess(X.T, W, H, gamma), rel=1e-12)


def test_iterations_to_a_goal() -> None:
    X = np.random.default_rng(0).random((20, 9))
    model = NMF(3, solver="mu", max_iter=30, tol=0, random_state=0)
    curve = model.fit(X).loss_curve_
    assert defaults.iterations_to(model, X, float(curve[11])) == 12
    assert defaults.iterations_to(model, X, 0.0) is None


def test_imputation_chooses_on_observed_entries_and_is_judged_on_hidden_ones() -> None:
    X = np.random.default_rng(0).random((30, 8))
    fillers = {
        "chosen": [
            imputation.Filler("wrong", lambda gaps: np.full_like(gaps, 9.0)),
            imputation.Filler("right", lambda gaps: np.where(np.isnan(gaps), X, gaps)),
        ],
        "mean": [imputation.Filler("", lambda gaps: np.broadcast_to(np.nanmean(gaps, axis=0), gaps.shape))],
    }
    answer = imputation.contest(X, 0.3, 0, fillers)
    assert answer["chosen"] == imputation.Filled(0.0, "right")
    hidden = np.random.default_rng(0).random(X.shape) < 0.3
    mean = np.broadcast_to(np.nanmean(np.where(hidden, np.nan, X), axis=0), X.shape)
    assert answer["mean"].error == pytest.approx(np.sqrt(np.mean((mean - X)[hidden] ** 2)))
    output = imputation.lines("X", X, 1, fillers, (0.3, 0.4))
    assert output[0] == "| X | chosen | 0.0000 (right) | 0.0000 (right) |"


def test_every_filler_fills() -> None:
    X = np.random.default_rng(0).random((30, 8))
    answers = imputation.contest(X, 0.2, 0, imputation.contenders(ranks=(2,)))
    assert len(answers) == 6
    assert all(0 < answer.error < 1 for answer in answers.values())


def test_data_of_known_rank() -> None:
    for kind, zeros in (("clean", 0.6), ("outliers", 0.6), ("zeros", 0.95)):
        X = rank.known(kind, 4, 0)
        assert X.shape == (200, 60)
        assert X.min() == 0
        assert np.mean(X == 0) < zeros
        assert (np.mean(X == 3) > 0.03) == (kind == "outliers")
    assert np.mean(rank.known("zeros", 4, 0) == 0) > 0.6


def test_the_rank_study_names_the_number_and_the_trimming(tmp_path: Path) -> None:
    row, path = rank.judge_real("small", rank.known("clean", 3, 0, 60, 20), 3, NMF(max_iter=30))
    assert row.startswith(f"| small | 60 x 20 | 3 | NMF | {path.best} | {path.chosen} | ")
    rank.draw({"NMF": path}, "small", tmp_path / "small.png")
    assert (tmp_path / "small.png").read_bytes().startswith(b"\x89PNG")
    assert rank.judge_known(NMF(max_iter=30), "zeros", 3, 1).startswith("| zeros | 3 | NMF | ")
    found = rank.preferred(rank.known("outliers", 3, 0, 60, 20), 3, (1, 0.1))
    assert list(found) == list(rank.TRIMS)
    assert set(found.values()) <= {"NMF", "1", "0.1"}
    assert found["10 % of the nonzero"] != "NMF"
