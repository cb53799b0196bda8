"""The estimators' parameters as options: names, choices, defaults and help come from the classes themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import click

from ewnmf import estimators
from ewnmf.estimators.parameters import CUSTOM, Parameter, described

__all__ = ["MODELS", "build_estimator", "components_option", "estimator_options"]

MODELS: dict[str, Any] = {
    "ewnmf": estimators.EWNMF,
    "nmf": estimators.NMF,
    "onmf": estimators.ONMF,
    "semi-nmf": estimators.SemiNMF,
    "convex-nmf": estimators.ConvexNMF,
}
_ELSEWHERE = ("n_components", "verbose")
"""Parameters with options of their own: -k, and --quiet."""
_ALIASES = {"random_state": ["--seed"]}
_TYPES = {"float": click.FLOAT, "int": click.INT, "bool": click.BOOL}


class NumberOr(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A number, or one of some words; where the last is an example, any other text is left to the estimator."""

    def __init__(self, words: list[str], example: bool) -> None:
        self.words, self.example = words, example
        self.name = "|".join(["NUMBER", *words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """The number, or the word."""
        try:
            return float(value)
        except ValueError:
            if value in self.words or self.example:
                return str(value)
            self.fail(f"{value!r} is neither a number nor {' nor '.join(map(repr, self.words))}.", param, ctx)


class CountOr(click.IntRange):
    """A whole number of at least 1, or one word."""

    name = "number of components"

    def __init__(self, word: str) -> None:
        super().__init__(min=1)
        self.word = word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word."""
        return value if value == self.word else super().convert(value, param, ctx)


def _plain(text: str) -> str:
    return re.sub(r"[`\"]", "", text)


def _type(parameter: Parameter) -> Any:
    """How the command reads the parameter; None for what only Python can hand over."""
    if parameter.choices:
        return click.Choice([name for name in parameter.choices if name != CUSTOM])
    if parameter.types[0] == "float" and parameter.words:
        example = [] if parameter.example is None else [parameter.example]
        return NumberOr([*parameter.words, *example], bool(example))
    return _TYPES.get(parameter.types[0])


def _options() -> dict[str, click.Option]:
    """An option for every parameter of every class."""
    options: dict[str, click.Option] = {}
    accepted = {name: [parameter.name for parameter in described(cls)] for name, cls in MODELS.items()}
    for cls in MODELS.values():
        for parameter in described(cls):
            type_ = _type(parameter)
            if parameter.name in (*_ELSEWHERE, *options) or type_ is None:
                continue
            owners = [name for name, names in accepted.items() if parameter.name in names]
            only = "" if len(owners) == len(MODELS) else f" Only with --model {' or '.join(owners)}."
            flag = "--" + parameter.name.replace("_", "-").lower()
            options[parameter.name] = click.Option(
                [parameter.name, *_ALIASES.get(parameter.name, []), flag],
                type=type_,
                metavar=type_.name if isinstance(type_, NumberOr) else None,
                help=f"{_plain(parameter.help)}{only}{_default(parameter)}",
            )
    return options


def _default(parameter: Parameter) -> str:
    if parameter.default is None or parameter.name == "weighting":
        return ""
    return f"  [default: {_plain(parameter.shown_default)}]"


components_option = click.option(
    "-k",
    "--n-components",
    type=CountOr("cv"),
    metavar="INTEGER|cv",
    required=True,
    help="Number of components; cv chooses it by entries that are held out.",
)


def estimator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--model``, ``-k`` and an option for every parameter; they arrive under the parameters' names."""
    named = click.option(
        "--model",
        type=click.Choice(list(MODELS)),
        default="ewnmf",
        show_default=True,
        help="What is asked of the factors. ewnmf learns a weight for every entry; the others weight by --weighting.",
    )
    parameters = getattr(command, "__click_params__", [])
    command.__click_params__ = [*parameters, *reversed(_options().values())]  # type: ignore[attr-defined]
    return components_option(named(command))


def build_estimator(model: str, given: dict[str, Any]) -> Any:
    """The estimator of that model with the parameters that were given, the class's own defaults for the rest."""
    cls = MODELS[model]
    chosen = {name: value for name, value in given.items() if value is not None}
    for name in chosen:
        if name not in inspect.signature(cls).parameters:
            owners = [other for other, known in MODELS.items() if name in inspect.signature(known).parameters]
            raise click.UsageError(
                f"--{name.replace('_', '-')} does not belong to --model {model}; use --model {' or '.join(owners)}, or "
                "leave it out."
            )
    return cls(**chosen)
