"""``python -m ewnmf`` is the command ``ewnmf``."""

from __future__ import annotations

import sys

from ewnmf.cli import main

if __name__ == "__main__":
    sys.exit(main())
