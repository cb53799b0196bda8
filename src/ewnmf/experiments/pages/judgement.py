"""What a verdict is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["HOLDS", "NOT_RUN", "NOT_SEEN", "PART", "Judgement", "graded"]

HOLDS, PART, NOT_SEEN, NOT_RUN = "holds", "holds in part", "not seen", "not yet run"


@dataclass(frozen=True)
class Judgement:
    """How a claim fares, the numbers that decide it, and the most telling of them in a few words."""

    outcome: str
    why: str
    brief: str = ""


def graded(met: int, asked: int) -> str:
    """All, some or none of the conditions are met; without conditions nothing was run."""
    if asked == 0:
        return NOT_RUN
    return HOLDS if met == asked else PART if met else NOT_SEEN
