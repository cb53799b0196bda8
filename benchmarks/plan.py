"""How large a run is: sizes, iterations, rounds, data sets."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "DataRun", "Plan"]

Shape = tuple[int, int, int]


@dataclass(frozen=True)
class DataRun:
    """Time to the same objective on one data set: components, target, and how often each side runs."""

    name: str
    title: str
    K: int
    at_least: float
    rounds_plain: int = 2
    rounds_ours: int = 2
    limit: int | None = None


@dataclass(frozen=True)
class Plan:
    """Sizes (n, m, K), numbers of iterations (n1, n2) per size, rounds, data sets and gammas.

    `pause` are the seconds between two measurements, in which the waiting threads of the last contender go to sleep.
    """

    middle: Shape = (2000, 1024, 20)
    large: Shape = (9144, 1024, 50)
    small: Shape = (150, 50, 5)
    counts_middle: tuple[int, int] = (5, 30)
    counts_large: tuple[int, int] = (2, 10)
    counts_small: tuple[int, int] = (50, 550)
    rounds: int = 5
    pause: float = 0.05
    product_sides: tuple[int, ...] = (1024, 2048)
    growth_n: tuple[int, ...] = (500, 1000, 2000, 4000, 8000)
    growth_m: tuple[int, ...] = (256, 512, 1024, 2048)
    growth_K: tuple[int, ...] = (5, 10, 20, 40, 80)
    iterations: int = 300
    most_iterations: int = 600
    gammas: tuple[float, ...] = (0.01, 0.1)
    data: tuple[DataRun, ...] = (
        DataRun("yale", "Yale", 15, 4, 3, 3),
        DataRun("umist", "UMIST", 20, 8, 2, 3),
        DataRun("gtfd", "GTFD", 20, 8, 2, 3),
        DataRun("caltech101", "Caltech101", 20, 8, 1, 2),
    )
    defaults: tuple[tuple[str, str, int], ...] = (
        ("digits", "Digits", 10),
        ("yale", "Yale", 15),
        ("umist", "UMIST", 20),
    )
    sparse: Shape = (20_000, 5_000, 20)
    counts_sparse: tuple[int, int] = (5, 45)
    curves_of: str = "umist"
    children: int = 3
    download: bool = False
    quick: bool = False


FULL = Plan()
QUICK = Plan(
    middle=(120, 64, 4),
    large=(300, 64, 6),
    small=(30, 20, 3),
    counts_middle=(2, 12),
    counts_large=(2, 12),
    counts_small=(2, 22),
    rounds=2,
    pause=0.0,
    product_sides=(64,),
    growth_n=(60, 120, 240),
    growth_m=(32, 64, 128),
    growth_K=(2, 4, 8),
    iterations=20,
    most_iterations=200,
    gammas=(0.1,),
    data=(DataRun("digits", "Digits", 5, 4, 1, 1, limit=100),),
    defaults=(("digits", "Digits", 5),),
    sparse=(60, 40, 3),
    curves_of="digits",
    children=1,
    quick=True,
)
