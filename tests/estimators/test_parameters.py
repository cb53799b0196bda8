"""One source of parameters: a new loss or weighting shows everywhere with its line in the registry."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import click
import pytest

import ewnmf
from ewnmf import losses, models, weightings
from ewnmf.cli import estimator_options
from ewnmf.estimators.documented import documented
from ewnmf.estimators.parameters import described
from ewnmf.fitting.pipeline import Settings
from ewnmf.losses.registry import LOSSES
from ewnmf.models.registry import MODELS
from ewnmf.weightings.registry import WEIGHTINGS

CLASSES = [ewnmf.EWNMF, ewnmf.NMF, ewnmf.ONMF, ewnmf.SemiNMF, ewnmf.ConvexNMF, ewnmf.MiniBatchEWNMF]
every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


@dataclass(frozen=True)
class Alike(weightings.Uniform):
    """As good as no weights."""

    name: ClassVar[str] = "alike"
    meaning: ClassVar[str] = "as good as none."


@dataclass(frozen=True)
class Squared(losses.Euclidean):
    """As good as the Euclidean loss."""

    name: ClassVar[str] = "squared"


factorize = ewnmf.factorize  # loaded now: its text is made of what the registries hold then


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WEIGHTINGS, "alike", Alike)
    monkeypatch.setitem(LOSSES, "squared", Squared)


@pytest.mark.usefixtures("registered")
@every_class
def test_a_new_entry_of_a_registry_is_documented(cls: Any) -> None:
    class Fresh(cls):
        __doc__ = "One.\n\n    Parameters\n    ----------\n    $parameters\n    "

    text = inspect.getdoc(documented(Fresh)) or ""
    assert 'weighting : {"entropy", "fixed", "none", ' in text
    assert '"alike"} or Weighting' in text
    assert '``"alike"``: as good as none.' in " ".join(text.split())
    assert '"squared"} or Loss' in text


@pytest.mark.usefixtures("registered")
def test_a_new_entry_of_a_registry_is_an_option() -> None:
    options = estimator_options._options()
    for name, new in (("weighting", "alike"), ("loss", "squared")):
        kind = options[name].type
        assert isinstance(kind, click.Choice)
        assert new in kind.choices
    assert "alike: as good as none." in (options["weighting"].help or "")


@pytest.mark.usefixtures("registered")
@pytest.mark.filterwarnings("ignore:.*NumPy reference:RuntimeWarning")
def test_a_new_entry_of_a_registry_is_named_fitted_and_saved(tmp_path: Path) -> None:
    X = [[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]]
    with pytest.raises(ValueError, match=r"use one of 'alike', .*'entropy', .*'none'.*\. Did you mean 'alike'"):
        ewnmf.NMF(1, weighting="alik").fit(X)
    with pytest.raises(ValueError, match=r"'squared'\. Did you mean 'squared'"):
        ewnmf.factorize(X, 1, loss="sqared")
    model = ewnmf.NMF(1, weighting="alike", loss="squared", random_state=0, max_iter=3, tol=0).fit(X)
    model.save(tmp_path / "model.ewnmf")
    loaded = ewnmf.load(tmp_path / "model.ewnmf")
    assert (loaded._fitted_problem.loss, loaded._fitted_problem.weighting) == (Squared(), Alike())


@every_class
def test_the_table_has_the_parameters_of_the_signatures(cls: Any) -> None:
    signature = {name: known.default for name, known in inspect.signature(cls).parameters.items()}
    assert {known.name: known.default for known in described(cls)} == signature


@every_class
def test_every_valid_name_is_taken_and_every_default_is_valid(cls: Any) -> None:
    for known in described(cls):
        if known.choices:
            assert known.default in known.choices
        elif isinstance(known.default, str):
            assert known.default in known.words
    choices = {known.name: known.choices for known in described(cls)}
    for solver in choices["solver"]:
        Settings(solver=solver)
    for loss in choices["loss"]:
        assert losses.resolve(loss).name == loss
    for weighting in choices["weighting"]:
        assert weightings.resolve(weighting).name == weighting
    for method in choices.get("method", []):
        for of in choices["of"]:
            models.Orthogonal(method, of)


def test_factorize_names_what_the_registries_have() -> None:
    text = inspect.getdoc(factorize) or ""
    for name, valid in (("loss", LOSSES), ("model", MODELS), ("weighting", WEIGHTINGS)):
        assert f"{name} : {{{', '.join(f'{chr(34)}{one}{chr(34)}' for one in valid)}}} or " in text
    assert "$" not in text
