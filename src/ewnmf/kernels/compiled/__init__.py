"""The reference's sweeps, compiled."""
