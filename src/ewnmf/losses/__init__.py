"""Losses: one file each."""

from ewnmf.losses.alpha import Alpha
from ewnmf.losses.base import Loss, RankOne
from ewnmf.losses.beta import Beta
from ewnmf.losses.euclidean import Euclidean
from ewnmf.losses.kullback_leibler import KullbackLeibler
from ewnmf.losses.registry import resolve

__all__ = ["Alpha", "Beta", "Euclidean", "KullbackLeibler", "Loss", "RankOne", "resolve"]
