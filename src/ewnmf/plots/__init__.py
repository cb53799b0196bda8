"""Pictures of fits."""

from ewnmf.plots.figures import components, gamma_path, loss_curve, rank_path, signals, weight_maps

__all__ = ["components", "gamma_path", "loss_curve", "rank_path", "signals", "weight_maps"]
