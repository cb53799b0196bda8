"""How sweeps follow each other."""
