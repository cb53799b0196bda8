"""Random problems against what every factorisation must do: ``python -m tests.torture --minutes 10 --seed 0``."""
