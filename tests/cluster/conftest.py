"""Processes that are killed, and networks that are cut: ``make test-cluster``. Left out elsewhere: they take long."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("EWNMF_CLUSTER") else ["*"]
