"""The main job on data that needs no network: damage found and mended; then NMF against EWNMF on damaged data.

``python -m ewnmf.demo [--output demo_output] [--seeds 10]`` prints what it found and writes figures (PNG) and all
numbers (``demo.json``) to the output folder.
"""

from ewnmf.demo.command import main

__all__ = ["main"]
