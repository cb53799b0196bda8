"""How compiled code is compiled: what Python calls, and what only compiled code calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from inspect import signature
from typing import Any

from llvmlite import binding
from numba.core import config
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager

__all__ = ["ALLOCATING", "APART", "ENTRY", "INLINE", "ROW", "SAFE"]

_NARROW = "prefer-256-bit"
"""What LLVM calls holding wider vectors back."""
SAFE = {"contract", "nnan", "nsz", "arcp"}
"""Fast-math without reassociation, which would undo the rounding by a large constant in `exp`."""


class _Defined:
    """A module whose functions are those that it defines, for passes that do nothing to the others but take time."""

    def __init__(self, module: Any) -> None:
        self.module = module

    @property
    def functions(self) -> list[Any]:
        return [function for function in self.module.functions if not function.is_declaration]

    @property
    def data_layout(self) -> Any:
        return self.module.data_layout

    @data_layout.setter
    def data_layout(self, layout: Any) -> None:
        self.module.data_layout = layout


_IDLE = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NopythonRewrites",
    "NoPythonSupportedFeatureValidation",
    "AnnotateTypes",
    "DumpParforDiagnostics",
}
"""Passes for what the compiled code here does not have: contexts, errors, closures, literals, expressions of arrays."""


def _without_idle(passes: Any) -> Any:
    """The same pipeline without idle passes."""
    needed = PassManager(passes.pipeline_name)
    for part, words in passes.passes:
        if part.__name__ not in _IDLE:
            needed.add_pass(part, words)
    needed.finalize()
    return needed


class _Direct(Compiler):  # type: ignore[misc, unused-ignore]
    """Numba's compiler without work whose result nobody uses: what Python calls is optimised whole, and once.

    Where a Numba does not have what is left out here under the same name, the work is done, and takes its time.
    """

    optimizes = True

    def define_pipelines(self) -> Any:
        state = self.state
        if state.library is None:
            codegen = state.targetctx.codegen()
            library = state.library = codegen.create_library(state.func_id.func_qualname)
            library.enable_object_caching()
            if not any(p.default is p.empty for p in _parameters(codegen._function_pass_manager)):
                optimize = library._optimize_functions
                library._optimize_functions = lambda module: optimize(_Defined(module))
                library._optimize_final_module = partial(_optimize, library, codegen) if self.optimizes else _nothing
        return [_without_idle(passes) for passes in super().define_pipelines()]


def _optimize(library: Any, codegen: Any) -> None:
    """Optimise the whole module; before, Numba does the same for the sake of references, of which there are none."""
    with _wide_vectors(codegen):
        manager, builder = codegen._module_pass_manager()
        manager.run(library._final_module, builder)


@contextmanager
def _wide_vectors(codegen: Any) -> Iterator[None]:
    """Vectors of 512 bits where the processor has them: LLVM holds some back, since they may run slower for a while.

    The products between these loops have such vectors anyway.
    """
    usual, features = codegen._tm, getattr(codegen, "_tm_features", "")
    if "+avx512f" in features and _NARROW not in features:
        codegen._tm = _target_machine(codegen, f"{features},-{_NARROW}")
    try:
        yield
    finally:
        codegen._tm = usual


def _target_machine(codegen: Any, features: str) -> Any:
    """Numba's, with other features."""
    options: dict[str, Any] = {"opt": config.OPT}
    codegen._customize_tm_options(options)
    target = binding.Target.from_triple(binding.get_process_triple())
    return target.create_target_machine(**{**options, "features": features})


def _nothing() -> None:
    """What is left to those that link a function into theirs."""


def _parameters(function: Any) -> list[Any]:
    """The parameters of a function that have a name."""
    named = signature(function).parameters.values()
    return [parameter for parameter in named if parameter.kind is parameter.POSITIONAL_OR_KEYWORD]


class _Linked(_Direct):
    """The same up to intermediate code: entry points link it, optimise it and turn it into machine code."""

    optimizes = False

    def define_pipelines(self) -> Any:
        pipelines = super().define_pipelines()
        self.state.targetctx.get_executable = _no_executable
        self.state.library._finalize_final_module = partial(_finalize, self.state.library)
        return pipelines


class _Apart(_Linked):
    """The same for functions whose arrays never overlap, unless nothing is written to either."""

    def define_pipelines(self) -> Any:
        self.state.flags.noalias = True
        return super().define_pipelines()


def _no_executable(library: Any, fndesc: Any, env: Any) -> Any:
    """What stands for the machine code of a function that Python never calls: a builtin of its own, as a key."""
    return [].append


def _finalize(library: Any) -> None:
    """All that Numba does with a finished library but for its machine code."""
    library._finalize_dynamic_globals()
    library._verify_declare_only_symbols()
    library._finalized = True


ENTRY: dict[str, Any] = {
    "fastmath": SAFE,
    "error_model": "numpy",
    "nogil": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _Direct,
    "_nrt": False,
}
"""For what Python calls, through `entry`: its machine code, with all that it calls, is kept on disk.

It makes no arrays, and so does not count who refers to them: for short rows that took longer than the rows.
"""
ALLOCATING: dict[str, Any] = {**ENTRY, "_nrt": True}
"""For what makes arrays of its own, and hands them on to what does not."""
ROW: dict[str, Any] = {**ENTRY, "no_cpython_wrapper": True, "pipeline_class": _Linked}
"""For what only compiled code calls."""
APART: dict[str, Any] = {**ROW, "pipeline_class": _Apart}
"""For rows of which none that is written overlaps another: short ones would be compared more than worked on."""
INLINE: dict[str, Any] = {**ROW, "forceinline": True}
