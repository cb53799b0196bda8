"""Text that a spreadsheet would take for a formula, in tables of text.

An apostrophe in front keeps it text, as OWASP recommends ("CSV injection"); reading takes it away again.
"""

from __future__ import annotations

import re

__all__ = ["guarded", "unguarded"]

_FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a formula begins, with apostrophes or without; the last four are the wide forms of ``= + - @``."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", flags=re.ASCII)


def guarded(text: str) -> str:
    """The text, with an apostrophe in front if it would be a formula; a number is none."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(text: str) -> str:
    """The text that `guarded` made into this one; any other text as it is."""
    return text[1:] if text.startswith("'") and guarded(text[1:]) == text else text
