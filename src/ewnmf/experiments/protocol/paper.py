"""What the paper prints: tables, protocol, claims, and where it contradicts itself or the data.

Wei et al., "An entropy weighted nonnegative matrix factorization algorithm for feature representation" (2023).
Percentages as printed; methods and data sets under the names of `Spec`.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CLAIMS",
    "CLUSTERS",
    "CONFLICTS",
    "DATASETS",
    "DRAWS",
    "GAMMAS",
    "ITERATIONS",
    "PRINTED",
    "STARTS",
    "TABLE1",
    "Claim",
    "Printed",
]

DATASETS = {
    "yale": "Yale",
    "umist": "UMIST",
    "caltech101": "Caltech101",
    "gtfd": "GTFD",
    "tdt2": "TDT2",
    "signals": "mixed signals",
}
"""Data set -> its title."""

ITERATIONS = 300
STARTS = 10
DRAWS = 10
CLUSTERS = tuple(range(2, 11))
GAMMAS = tuple(10.0**power for power in range(-8, 9))

TABLE1: dict[str, tuple[int, int, int]] = {
    "yale": (165, 1024, 15),
    "umist": (1012, 1024, 20),
    "caltech101": (9144, 1024, 101),
    "gtfd": (750, 1024, 50),
    "tdt2": (9394, 36771, 30),
}
"""Data set -> points, dimensions, classes, as printed in Table 1."""

CONFLICTS: dict[str, str] = {
    "yale": "The text says 150 images; Table 1 says 165, which is 15 persons x 11 images and what the data have.",
    "umist": (
        "The 1012 images are the larger of the variants in use; other papers' figures on smaller ones do not compare."
    ),
    "caltech101": (
        "The 9144 images include the background folder, which makes 102 classes where Table 1 says 101. Fig. 7 here "
        "draws from the 101 without it."
    ),
    "gtfd": "The paper's 32 x 32 pixels are made here from the published face crops of 40 x 30.",
}
"""Data set -> what a reader of Table 1 must know."""


@dataclass(frozen=True)
class Printed:
    """One of Tables 2 and 3: method -> (ACC, NMI) in percent."""

    dataset: str
    values: dict[str, tuple[float, float]]


PRINTED: dict[str, Printed] = {
    "table2": Printed(
        "yale",
        {
            "nmf": (39.03, 44.74),
            "onmf": (41.21, 47.36),
            "semi-nmf": (42.48, 48.48),
            "convex-nmf": (31.88, 37.91),
            "ewnmf": (46.06, 53.27),
        },
    ),
    "table3": Printed(
        "umist",
        {
            "nmf": (51.06, 69.63),
            "onmf": (50.99, 68.34),
            "semi-nmf": (52.15, 67.70),
            "convex-nmf": (23.52, 29.13),
            "ewnmf": (64.05, 76.01),
        },
    ),
}


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words, and where it stands."""

    says: str
    where: str


CLAIMS: dict[str, Claim] = {
    "weights": Claim("The weights of the destroyed part are almost zero, the others are alike", "Fig. 2"),
    "wide-range": Claim("EWNMF is better than NMF over a wide range of gamma", "Figs. 3, 4"),
    "best": Claim("EWNMF has the best ACC and NMI", "Tables 2, 3"),
    "gtfd": Claim("EWNMF is beaten only on GTFD with two clusters, by Semi-NMF", "Figs. 5 to 9"),
    "all-aspects": Claim("No other method is better than EWNMF in all aspects", "Figs. 5 to 9"),
    "monotone": Claim("EWNMF's cost never rises", "Fig. 10"),
    "onmf-rises": Claim("ONMF's cost can rise", "Fig. 10"),
    "stable": Claim("All methods but Convex-NMF are stable within 200 iterations", "Fig. 10"),
    "global": Claim("The bases of Semi-NMF and Convex-NMF are more global", "Fig. 11"),
    "local": Claim("ONMF's bases are more local than EWNMF's", "Fig. 11"),
}
