"""Processes that are killed, networks that are cut, and all that takes long: ``make test-cluster``."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("EWNMF_CLUSTER") else ["*"]
