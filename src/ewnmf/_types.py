"""Types that all rooms share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Float64"]

Array = NDArray[Any]
Float64 = NDArray[np.float64]
