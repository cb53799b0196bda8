"""An estimator as JSON and arrays, and back: parameters and fitted attributes, never code."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from ewnmf import __version__
from ewnmf._types import Array
from ewnmf.estimators.registry import class_of, name_of
from ewnmf.io import read_archive, write_archive

__all__ = ["library_versions", "read_estimator", "write_estimator"]

_CALLBACKS, _ROUTING = "_skl_callbacks", "_metadata_request"
_LARGEST_NUMBER = 32
"""Bytes of a number of NumPy's, at the most."""
_REPORTS = ("gamma_path_", "rank_path_")
"""Attributes that tell of the search, where infinity and NaN have a meaning."""
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba")


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that results depend on."""
    versions = {"python": platform.python_version(), "ewnmf": __version__}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):  # Numba may be missing
            versions[name] = version(name)
    return versions


def write_estimator(estimator: BaseEstimator, path: str | os.PathLike[str], note: Mapping[str, Any]) -> None:
    """Write an estimator, fitted or not, and a note (JSON) as one file."""
    writer = _Writer(type(estimator).__name__)
    document = writer.document(estimator) | {"versions": library_versions(), "note": dict(note)}
    write_archive(path, document, writer.arrays)


def read_estimator(
    path: str | os.PathLike[str], classes: Mapping[str, type[BaseEstimator]]
) -> tuple[BaseEstimator, dict[str, Any]]:
    """The estimator in a file, of one of these classes, and the note that was written with it."""
    document, arrays = read_archive(path)
    try:
        return _Reader(arrays, classes).estimator(document), dict(document["note"])
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise ValueError(
            f"{os.fspath(path)} is refused: its content is not that of a model of this version of ewnmf ({reason}); "
            "update ewnmf, or save the model anew."
        ) from error


def _check_shapes(estimator: Any) -> None:
    """Refuse components that are no table of the size that the model says, and what the estimator itself refuses."""
    if hasattr(estimator, "_check_loaded"):
        estimator._check_loaded()
    if hasattr(estimator, "calibration_"):  # models of before have none
        estimator.calibration_.check(estimator.n_features_in_)
    if hasattr(estimator, "components_"):
        components, shape = estimator.components_, (estimator.n_components_, estimator.n_features_in_)
        if not isinstance(components, np.ndarray) or components.dtype.kind != "f" or components.shape != shape:
            raise ValueError(f"its components are no table of {shape[0]} x {shape[1]} numbers")
        bounds = getattr(estimator, "_bounds", None)
        if bounds is not None and getattr(bounds, "shape", None) != (2, shape[1]):
            raise ValueError(f"its bounds are no table of 2 x {shape[1]} numbers")


def _check_finite(attributes: Mapping[str, Any]) -> None:
    """Refuse NaN and infinity where codes are made of them; gamma alone may be infinite."""
    facts = dataclasses.asdict(attributes["_facts"]) if dataclasses.is_dataclass(attributes.get("_facts")) else {}
    fitted = {name: value for name, value in attributes.items() if name.endswith("_") or name.startswith("_")}
    for name, value in {**fitted, **facts}.items():
        number = isinstance(value, np.ndarray | np.floating | float)
        if not number or name in _REPORTS or np.asarray(value).dtype.kind != "f":
            continue
        bad = np.isnan(value) if name == "gamma_" else ~np.isfinite(value)
        if np.any(bad):
            raise ValueError(f"{name} holds NaN or an infinite number")


def _known_class(name: Any, classes: Mapping[str, type[BaseEstimator]]) -> type[BaseEstimator]:
    if name not in classes:
        raise ValueError(f"the class {name!r} is not known")
    return classes[name]


def _known_parameters(cls: type[BaseEstimator], parameters: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(parameters) - set(cls().get_params(deep=False)))
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameter {unknown[0]!r}")
    return parameters


def _requests(estimator: Any) -> dict[str, Any]:
    """What `set_fit_request` and its like have set."""
    routing = getattr(estimator, _ROUTING, None)
    if routing is None:
        return {}
    methods = {
        name.removeprefix("set_").removesuffix("_request") for name in dir(estimator) if name.endswith("_request")
    }
    found = {name: getattr(getattr(routing, name, None), "requests", {}) for name in sorted(methods)}
    return {name: dict(requests) for name, requests in found.items() if requests}


def _set_requests(estimator: Any, requests: Mapping[str, Mapping[str, Any]]) -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        for method, given in requests.items():
            getattr(estimator, f"set_{method}_request")(**given)


class _Writer:
    """Values as JSON, with arrays put aside; what has no such form is refused."""

    def __init__(self, whose: str) -> None:
        self.arrays: dict[str, Array] = {}
        self._whose = whose

    def document(self, estimator: BaseEstimator, prefix: str = "") -> dict[str, Any]:
        """The JSON form of an estimator, whose arrays have names that begin with `prefix`."""
        if hasattr(estimator, "_settle"):
            estimator._settle()
        parameters = estimator.get_params(deep=False)
        skipped = {*parameters, _CALLBACKS, _ROUTING}
        fitted = {name: value for name, value in vars(estimator).items() if name not in skipped}
        try:
            _check_finite(fitted)
        except ValueError as error:
            raise ValueError(f"{type(estimator).__name__} cannot be saved: {error}; fit it anew.") from error
        given = {name: self.encode(value, f"{prefix}parameters.{name}") for name, value in parameters.items()}
        return {
            "class": type(estimator).__name__,
            "parameters": given,
            "attributes": {name: self.encode(value, f"{prefix}{name}") for name, value in fitted.items()},
            "requests": _requests(estimator),
        }

    def encode(self, value: Any, name: str) -> Any:
        """The JSON form of the value called `name`."""
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return {"scalar": value.dtype.str, "value": self.encode(value.item(), name)}
        if isinstance(value, np.ndarray):
            return self._array(value, name)
        if type(value) in (list, tuple):
            items = [self.encode(item, f"{name}.{i}") for i, item in enumerate(value)]
            return items if type(value) is list else {"tuple": items}
        if type(value) is dict and all(isinstance(key, str) for key in value):
            return {"dict": {key: self.encode(item, f"{name}.{key}") for key, item in value.items()}}
        if name_of(value) is not None:
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            encoded = {key: self.encode(item, f"{name}.{key}") for key, item in fields.items()}
            return {"object": name_of(value), "fields": encoded}
        if isinstance(value, BaseEstimator) and type(value).__module__.startswith("ewnmf."):
            return {"estimator": self.document(value, f"{name}.")}
        raise self._refusal(value, name)

    def _array(self, value: Array, name: str) -> Any:
        if value.dtype.kind == "O" and value.ndim == 1 and all(type(item) is str for item in value):
            return {"names": list(value)}
        if value.dtype.kind not in "biufU":
            raise self._refusal(value, name)
        self.arrays[name] = value
        return {"array": name}

    def _refusal(self, value: Any, name: str) -> ValueError:
        parameter = name.removeprefix("parameters.")
        text = " ".join(repr(value).split())
        return ValueError(
            f"{self._whose} cannot be saved: {parameter}={text[:60]} is neither a number, text or array nor an object "
            f"of ewnmf's own; change it (set_params({parameter.partition('.')[0]}=...)), or use pickle."
        )


class _Reader:
    """The values that a `_Writer` encoded."""

    def __init__(self, arrays: Mapping[str, Array], classes: Mapping[str, type[BaseEstimator]]) -> None:
        self._arrays, self._classes = arrays, classes

    def estimator(self, document: Mapping[str, Any]) -> BaseEstimator:
        """The estimator of a document, refused where its parts do not fit together."""
        cls = _known_class(document["class"], self._classes)
        parameters = {name: self.decode(value) for name, value in document["parameters"].items()}
        estimator = cls(**_known_parameters(cls, parameters))
        for name, value in document["attributes"].items():
            if hasattr(cls, name) or not name.isidentifier():
                raise ValueError(f"{name!r} is no fitted attribute of {cls.__name__}")
            setattr(estimator, name, self.decode(value))
        _set_requests(estimator, document["requests"])
        _check_shapes(estimator)
        _check_finite(vars(estimator))
        return estimator

    def decode(self, code: Any) -> Any:
        """The value; anything that no writer makes is refused."""
        if isinstance(code, list):
            return [self.decode(item) for item in code]
        if not isinstance(code, dict):
            return code
        kind = next(iter(code), "")
        decoders = {
            "float": self._float,
            "scalar": self._scalar,
            "array": lambda code: self._arrays[code["array"]],
            "names": self._names,
            "tuple": lambda code: tuple(self.decode(item) for item in code["tuple"]),
            "dict": lambda code: {key: self.decode(item) for key, item in code["dict"].items()},
            "object": self._object,
            "estimator": self._nested,
        }
        if kind not in decoders:
            raise ValueError(f"a value of the kind {kind!r} is not known")
        return decoders[kind](code)

    def _nested(self, code: dict[str, Any]) -> BaseEstimator:
        return self.estimator(code["estimator"])

    def _float(self, code: dict[str, Any]) -> float:
        return float(code["float"])

    def _scalar(self, code: dict[str, Any]) -> Any:
        dtype = np.dtype(code["scalar"])
        if dtype.kind not in "biufU":
            raise ValueError(f"a number of the type {dtype} is not known")
        if dtype.itemsize > max(_LARGEST_NUMBER, 4 * len(str(code["value"]))):
            raise ValueError(f"a value of the type {dtype} has {len(str(code['value']))} characters")
        return np.asarray(self.decode(code["value"]), dtype=dtype)[()]

    def _names(self, code: dict[str, Any]) -> Array:
        if not all(isinstance(name, str) for name in code["names"]):
            raise ValueError("a list of names holds something else")
        return np.array(code["names"], dtype=object)

    def _object(self, code: dict[str, Any]) -> Any:
        cls = class_of(code["object"])
        return cls(**{key: self.decode(item) for key, item in code["fields"].items()})
