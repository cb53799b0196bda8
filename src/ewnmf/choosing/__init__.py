"""Choices made without labels: gamma, and the number of components."""
