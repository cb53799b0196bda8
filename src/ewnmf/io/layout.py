"""How a file is to be read, as far as it does not say so itself."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """What a reader cannot know from the file.

    Parameters
    ----------
    kind : str, optional
        One of `KINDS`; the suffix decides where it is not given.
    delimiter : str, optional
        Between the cells of a text table; the first row decides where it is not given.
    decimal : str, default="."
        Decimal point of a text table.
    encoding : str, default="utf-8"
        Of a text table.
    header : bool, optional
        Whether the first row of a text table has the names of the columns; where not given, it has if one of its
        cells is no number.
    id, label : str, optional
        Column (by its name, or its number from 1) or variable with the points' names and classes; of a folder of
        images the label may be ``"folder"``: the folder that an image is in.
    drop : tuple of str, default=()
        Columns to leave out.
    variable : str, optional
        Which variable of an ``.npz`` or ``.mat`` file is the table.
    transpose : bool, default=False
        Whether points are columns.
    size : tuple of two int, optional
        Width and height that all images are brought to.
    """

    kind: str | None = None
    delimiter: str | None = None
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool | None = None
    id: str | None = None
    label: str | None = None
    drop: tuple[str, ...] = ()
    variable: str | None = None
    transpose: bool = False
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise ValueError(f"delimiter={self.delimiter!r} must be one character, such as ';'.")
        if len(self.decimal) != 1:
            raise ValueError(f"decimal={self.decimal!r} must be one character, '.' or ','.")
        if self.delimiter == self.decimal:
            raise ValueError(f"delimiter and decimal are both {self.decimal!r}; one character cannot be both.")
        if self.transpose and self.label is not None:
            raise ValueError(
                f"label={self.label!r} cannot be combined with transpose: a column of the file is then an attribute, "
                "not a property of points. Transpose the file itself."
            )
        if self.id is not None and self.id == self.label:
            raise ValueError(f"id and label are both {self.id!r}; name two columns.")
        if self.size is not None and min(self.size) < 1:
            raise ValueError(f"size={self.size} must be a width and a height of at least 1, such as 32x32.")
