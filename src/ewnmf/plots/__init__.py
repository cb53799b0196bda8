"""Pictures of fits: displays in scikit-learn's manner, and functions that draw them.

matplotlib comes with ``pip install "ewnmf[plots]"`` and is loaded when something is drawn. Figures belong to pyplot, so
that notebooks and ``plt.show()`` show them; nothing is shown by itself.
"""

from ewnmf.plots.clusters import ClusterDisplay
from ewnmf.plots.figures import components, gamma_path, loss_curve, rank_path, signals, weight_maps
from ewnmf.plots.gammas import GammaPathDisplay
from ewnmf.plots.objective import ObjectiveDisplay
from ewnmf.plots.parts import ComponentsDisplay
from ewnmf.plots.ranks import RankPathDisplay
from ewnmf.plots.repair import RepairDisplay
from ewnmf.plots.trust import TrustDisplay

__all__ = [
    "ClusterDisplay",
    "ComponentsDisplay",
    "GammaPathDisplay",
    "ObjectiveDisplay",
    "RankPathDisplay",
    "RepairDisplay",
    "TrustDisplay",
    "components",
    "gamma_path",
    "loss_curve",
    "rank_path",
    "signals",
    "weight_maps",
]
