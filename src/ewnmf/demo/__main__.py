"""``python -m ewnmf.demo``."""

import sys

from ewnmf.demo.command import main

sys.exit(main())
