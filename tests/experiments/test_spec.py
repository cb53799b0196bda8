"""The spec of a run: one spelling, one key."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ewnmf.experiments.protocol.spec import RULES, Spec

YALE = Spec("yale", "ewnmf", 15, 0, gamma=0.1)


def test_the_key_is_pinned_because_stores_are_resumed_by_it():
    assert YALE.key == "55ce00e33e6ff529c06b96c296bda7994d59e3935a75752de5ac9bbb0ab81766"


def test_a_run_has_one_key_however_it_is_spelt():
    assert replace(YALE, gamma=1).key == replace(YALE, gamma=1.0).key
    assert replace(YALE, occluded=0).key == YALE.key
    one, other = (replace(YALE, keep=names) for names in (("weights", "data"), ("data", "weights", "data")))
    assert one == other
    assert one.key == other.key


def test_every_field_is_part_of_the_key():
    others = [
        replace(YALE, dataset="umist"),
        replace(YALE, method="nmf", gamma=None),
        replace(YALE, k=14),
        replace(YALE, seed=1),
        replace(YALE, gamma=0.2),
        replace(YALE, gamma="auto"),
        replace(YALE, attempt=1),
        replace(YALE, max_iter=299),
        replace(YALE, draw=0),
        replace(YALE, occluded=0.1),
        replace(YALE, occluded=0.1, block=3),
        replace(YALE, keep=("history",)),
        replace(YALE, loss="kullback-leibler"),
        replace(YALE, gamma="auto", rule=0),
        replace(YALE, gamma="groups"),
        replace(YALE, gamma="groups", rule=0),
    ]
    assert len({spec.key for spec in (YALE, *others)}) == 17


def test_keys_of_stores_of_before_are_pinned():
    auto = replace(YALE, gamma="auto", rule=0, keep=("weights",))
    assert auto.key == "495d7072f6872c1c4d80057813d4fe19fa3708575e867dfa28d00460e7d9a476"
    occluded = Spec("caltech101", "nmf", 10, 3, draw=3, occluded=0.3, attempt=2, max_iter=20)
    assert occluded.key == "5df8ceb9b56715c22e1398fcc22d705fa30e334f311ea27d089eac78aa790e70"


def test_a_rule_has_what_chooses_gamma_and_a_block_what_is_occluded():
    assert (YALE.rule, YALE.chooses, replace(YALE, rule=2)) == (None, False, YALE)
    for gamma, number in RULES.items():
        chosen = replace(YALE, gamma=gamma)
        assert (chosen.rule, chosen.chooses, replace(chosen, gamma=0.1)) == (number, True, YALE)
        assert replace(chosen, rule=0).rule == 0
    assert replace(YALE, block=3) == YALE
    assert replace(YALE, block=3, occluded=0.3).block == 3


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"dataset": "yal"}, "dataset='yal' is not known; use one of .* Did you mean 'yale'?"),
        ({"method": "pca"}, "method='pca' is not known"),
        ({"gamma": None}, "gamma=None does not go with method='ewnmf': EWNMF alone has a gamma"),
        ({"method": "nmf"}, "gamma=0.1 does not go with method='nmf'"),
        ({"gamma": "best"}, "gamma='best' is not known; use one of 'auto', 'groups'"),
        ({"loss": "kl"}, "loss='kl' is not known; use one of 'euclidean', 'kullback-leibler'"),
        ({"keep": ("everything",)}, "keep='everything' is not known"),
    ],
)
def test_what_is_no_run_is_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(YALE, **change)


def test_specs_have_an_order_across_missing_numbers_and_words():
    gammas: list[float | str] = [0.1, "auto", 1e-8]
    specs = [replace(YALE, gamma=gamma, draw=draw) for gamma in gammas for draw in (3, None)]
    output = [(spec.gamma, spec.draw) for spec in sorted(specs, key=lambda spec: spec.order)]
    assert output == [("auto", None), ("auto", 3), (1e-8, None), (1e-8, 3), (0.1, None), (0.1, 3)]


def test_a_spec_says_what_it_is():
    assert str(YALE) == "yale ewnmf gamma=0.1 k=15 seed=0"
    assert str(Spec("tdt2", "nmf", 3, 4, draw=4, attempt=2)) == "tdt2 nmf k=3 draw=4 try=3"
    assert str(Spec("yale", "nmf", 15, 1, occluded=0.3)) == "yale nmf k=15 seed=1 occluded=0.3"
    assert str(Spec("tdt2", "nmf", 5, 13, draw=3, loss="kullback-leibler")) == (
        "tdt2 nmf k=5 draw=3 seed=13 kullback-leibler"
    )
    assert str(Spec("digits", "nmf", 10, 1, occluded=0.3, block=3)) == "digits nmf k=10 seed=1 occluded=0.3 block=3"
    assert str(Spec("gtfd", "none", 50, 0)) == "gtfd statistics k=50 seed=0"
