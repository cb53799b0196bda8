"""What is damaged, and what was there: residuals in units of their attribute's spread, verdicts, repaired points."""
