"""``python -m benchmarks``: how fast the package is, measured against what people use instead.

What is compared is measured within one run, contender after contender, round after round, and the best of the rounds
counts; the answer is written to ``docs/benchmarks.md``, with pictures.
"""
