"""What is run: specs, targets, the paper's claims, the data."""
