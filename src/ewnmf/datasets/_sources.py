"""Where each data set comes from, what the right files are, and what is known about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ewnmf.datasets import _convert
from ewnmf.datasets._convert import CALTECH_FOLDER, CALTECH_TAR, Arrays

__all__ = ["CALTECH101", "GTFD", "TDT2", "UMIST", "YALE", "ConvertedFile", "DataSource"]


@dataclass(frozen=True)
class ConvertedFile:
    """A file of the data folder, right if its named arrays have that sha256."""

    name: str
    arrays: tuple[str, ...]
    sha256: str


@dataclass(frozen=True)
class DataSource:
    """A data set: the files that are kept, and those they are made from.

    `raw` maps the names under which the published data is looked for to their sha256 (None: the result
    decides); the first of them is the one at `url`.
    """

    converted: tuple[ConvertedFile, ...]
    raw: Mapping[str, str | None]
    url: str
    convert: Callable[[Path], dict[str, Arrays]]
    descr: str
    needs_pillow: bool = False


def _github(repository: str, commit: str, path: str) -> str:
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


_IMAGES = ("X", "y", "shape")
_FACES_TERMS = "For research; the images belong to the makers of the data set and are not part of this package."

YALE = DataSource(
    converted=(ConvertedFile("yale.npz", _IMAGES, "77d886ee332fee6a04ea6cc82c802ec6a565e910d15a33436c16700143d4bb68"),),
    raw={"Yale_32x32.mat": "beb3cc9f448c1ab786583c8f5429368c299843ee88263f9650ed463004ef7633"},
    url=_github("ma-xu/ORL3", "0efe9e8df8fd3642fbf1f5e258f51165e475b1f1", "Yale_32x32.mat"),
    convert=_convert.convert_yale,
    descr=f"""\
Yale faces

165 grey images of 32 x 32 pixels (uint8) of 15 people, 11 each, who differ in expression, glasses and
lighting.
The paper: 165 points, 1024 dimensions, 15 classes (its text also speaks of 150 images; its table and the
data say 165).

Source: ma-xu/ORL3 on GitHub, commit 0efe9e8df8fd, Yale_32x32.mat.
Made by: P. N. Belhumeur, J. P. Hespanha, D. J. Kriegman (1997), Eigenfaces vs. Fisherfaces, IEEE TPAMI 19(7).
Terms: {_FACES_TERMS} Publications should
acknowledge the use of the Yale Face Database.
""",
)

UMIST = DataSource(
    converted=(
        ConvertedFile("umist.npz", _IMAGES, "5b536d006dc306b4217f40b7c76d5847934579bc8669505bfcee38526ac0ac14"),
    ),
    raw={"UMIST.mat": "9e5ba1f69b28d4d8d283c8fc0e70d9f664cf626533b91b08fbbb1311c63af07d"},
    url=_github("ff-raw-war/DSSL-MR", "2e75b046812369b8a5fac7e98c07e88a9f274ac9", "datasets/UMIST.mat"),
    convert=_convert.convert_umist,
    descr=f"""\
UMIST (Sheffield) faces

1012 grey images of 32 x 32 pixels (uint8) of 20 people, 24 to 84 each, from profile to front.
The paper: 1012 points, 1024 dimensions, 20 classes. (Smaller variants of this data set are in use as well.)

Source: ff-raw-war/DSSL-MR on GitHub, commit 2e75b0468123, datasets/UMIST.mat.
Made by: D. B. Graham, N. M. Allinson (1998), Characterizing virtual eigensignatures for general purpose face
recognition, in: Face Recognition: From Theory to Applications.
Terms: {_FACES_TERMS}
""",
)

GTFD = DataSource(
    converted=(ConvertedFile("gtfd.npz", _IMAGES, "b611587704d5091acc87e87e5eecad8ef9e8a215c2ce0f800c9218a8b5f40779"),),
    raw={"GT.mat": "c649cdf8ab418f302355bc30e2037584f6d44ecab08e5fe3054a23975e5df593"},
    url=_github("yuzhounh/Face-databases", "75d3e1df261b9810cc4ce2ef8b80b696658a02d6", "faces/GT.mat"),
    convert=_convert.convert_gtfd,
    needs_pillow=True,
    descr=f"""\
Georgia Tech faces (GTFD)

750 grey images of 32 x 32 pixels (uint8) of 50 people, 15 each, in two sessions. The source has face crops
of 40 x 30 pixels, resized here (bicubic).
The paper: 750 points, 1024 dimensions, 50 classes.

Source: yuzhounh/Face-databases on GitHub, commit 75d3e1df261b, faces/GT.mat.
Made by: A. V. Nefian (1999), Georgia Tech face database, Georgia Institute of Technology.
Terms: {_FACES_TERMS}
""",
)

CALTECH101 = DataSource(
    converted=(
        ConvertedFile(
            "caltech101.npz",
            (*_IMAGES, "names"),
            "36dc4b58415dc13b648db306f38874cff3b20a93053f5eb312b9dbfdf6d0010b",
        ),
    ),
    raw={
        "caltech-101.zip": "331234750fc7f77520e50d9565e8b6907b03565e30320da1401130db08c61f91",
        CALTECH_TAR: None,
        CALTECH_FOLDER: None,
    },
    url="https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
    convert=_convert.convert_caltech101,
    needs_pillow=True,
    descr="""\
Caltech101

9144 images, grey and resized to 32 x 32 pixels (uint8, bicubic), in 102 folders, 31 to 800 each. Label 0 is
the background folder; target_names has the names of the folders.
The paper: 9144 points, 1024 dimensions, 101 classes. (The 9144 include the 467 of the background, with
which there are 102 classes; without them there are 8677 points in 101 classes.)

Source: CaltechDATA, record mzrjq-6wc02, caltech-101.zip.
Made by: L. Fei-Fei, R. Fergus, P. Perona (2004), Learning generative visual models from few training
examples, CVPR Workshop on Generative-Model Based Vision.
Terms: Creative Commons Attribution 4.0, according to CaltechDATA; the images are not part of this package.
""",
)

TDT2 = DataSource(
    converted=(
        ConvertedFile(
            "tdt2_X.npz",
            ("data", "indices", "indptr", "shape"),
            "53c7566181300b3fd5b481433eba8f5709411e050aa16ead7dbd4595f256d86f",
        ),
        ConvertedFile("tdt2_y.npy", ("y",), "76d4f5401f7b7d8e34c7ac988d1d899398977e052b0df5fabd595f675a48926e"),
    ),
    raw={"TDT2.mat": "a28844f8bf18076838ede0d7554c8c2476d6b6d1c7eb57558e7288e10d16fde9"},
    url=_github(
        "hiroyuki-kasai/NMFLibrary",
        "ed44132dfe1b5495df685006b42259f0bd16bea3",
        "applications/document_clustering/TDT2.mat",
    ),
    convert=_convert.convert_tdt2,
    descr="""\
TDT2

9394 news texts from six sources of 1998, in the 30 largest categories, 52 to 1844 each, as raw counts of
36771 terms (scipy CSR, uint8, 1,224,135 counts that are not zero; 678 terms occur nowhere). The terms
themselves are not given.
The paper: 9394 points, 36771 dimensions, 30 classes.

Source: hiroyuki-kasai/NMFLibrary on GitHub, commit ed44132dfe1b, applications/document_clustering/TDT2.mat.
Made by: the Linguistic Data Consortium for NIST (Topic Detection and Tracking, phase 2); subset by D. Cai,
X. He, J. Han (2005), Document clustering using locality preserving indexing, IEEE TKDE 17(12).
Terms: the texts are licensed by the Linguistic Data Consortium; these counts are for research and are not
part of this package.
""",
)
