"""The pictures of the documentation show what today's code computes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import illustrations, rank
from ewnmf import NMF

IMAGES = Path(__file__).parents[2] / "docs" / "images"
KEPT = json.loads((IMAGES / illustrations.NUMBERS).read_text("utf-8"))
COMMAND = "redraw it: python -m benchmarks.illustrations"


def drawn(suffix):
    return {path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob(f"*.{suffix}")}


def assert_close(found, kept, name):
    """Equal summaries, to a thousandth of the largest value: 300 iterations on another processor."""
    scale = max(abs(kept["least"]), abs(kept["largest"]))
    assert found["shape"] == kept["shape"], f"{name}: {COMMAND}"
    for key in ("least", "largest", "mean", "rms", "waves"):
        said = f"{name}, {key}: {COMMAND}"
        np.testing.assert_allclose(found[key], kept[key], rtol=0, atol=1e-3 * scale, err_msg=said)


def test_every_picture_has_its_numbers_or_a_command_that_draws_it_from_stored_ones():
    ours = {*illustrations.DEMO, *illustrations.MENDED, *illustrations.RANKS}
    others = {name for name in drawn("png") | drawn("svg") if name.startswith(tuple(illustrations.ELSEWHERE))}
    assert drawn("png") | drawn("svg") == ours | others
    assert set(KEPT) == ours


@pytest.mark.parametrize("name", sorted(KEPT))
def test_picture_is_the_one_whose_numbers_are_kept(name):
    assert illustrations.fingerprint(IMAGES / name) == KEPT[name]["sha256"], COMMAND


def test_demonstration_draws_what_is_committed():
    for picture, what in {**illustrations.demonstrations(), **illustrations.mended(faces=False)}.items():
        found, kept = illustrations.summaries(what), KEPT[picture]["numbers"]
        assert set(found) == set(kept)
        for name, numbers in found.items():
            assert_close(numbers, kept[name], f"{picture}, {name}")


def test_summary_sees_every_entry():
    values = np.random.default_rng(0).random((8, 64))
    changed = values.copy()
    changed[3, 17] += 0.1
    with pytest.raises(AssertionError, match="redraw it"):
        assert_close(illustrations.summary(changed), illustrations.summary(values), "x")


@pytest.mark.parametrize("picture", sorted(illustrations.RANKS))
def test_ranks_are_those_of_the_picture(picture, request):
    """Two of the candidates, which are judged as they are among all."""
    if picture == "rank-yale.png":
        request.getfixturevalue("data")
    kept = KEPT[picture]["numbers"]["NMF"]
    some = kept["candidates"][1:3]
    path = illustrations.rank_path(illustrations.RANKS[picture], NMF(), some)
    np.testing.assert_allclose(-path.means, kept["losses"][1:3], rtol=1e-2, err_msg=COMMAND)
    assert kept["chosen"] in kept["candidates"]
    assert illustrations.RANKS[picture] in rank.REAL


def test_unknown_pictures_are_refused(capsys):
    with pytest.raises(SystemExit):
        illustrations.main(["fig3.png"])
    assert "'fig3.png' is no picture that is drawn here" in capsys.readouterr().err
