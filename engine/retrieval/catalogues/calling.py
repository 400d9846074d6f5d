"""Calling the function behind an entry of a catalogue whose package is installed."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Collection, Mapping
from typing import Any

from engine.domain.retrieval import CatalogueEntry
from engine.errors import UserError

PACKAGES = ("biomni",)
"""Packages whose functions may be called: a catalogue's file must not name any code it likes."""


def call_entry(entry: CatalogueEntry, arguments: Mapping[str, Any], *, packages: Collection[str] = PACKAGES) -> Any:
    """Import the entry's function, call it and return what it returns. Its code runs here, outside the sandbox.

    Args:
        entry: an entry with `call`.
        arguments: the function's arguments by name.
        packages: top-level packages that may be called.

    Raises:
        UserError: when the entry is a description only, its package is not installed or not allowed, the arguments
            do not fit, or the function fails.
    """
    module, _, name = entry.call.partition(":")
    package = module.split(".")[0]
    if not name:
        raise UserError(
            f"The tool {entry.name!r} of the catalogue {entry.catalogue} is a description only and cannot be called.",
            advice=f"Install its package and import the catalogue again; {entry.url or 'its project'} says how.",
        )
    if package not in packages:
        raise UserError(
            f"The tool {entry.name!r} names the function {entry.call!r}, but functions of {package!r} may not be "
            f"called from a catalogue.",
            advice=f"It can be one of {', '.join(sorted(packages))}.",
        )
    function = _import(entry, module, name, package)
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as error:
        raise UserError(
            f"The arguments of {entry.name!r} do not fit: {error}.",
            advice=f"It takes {', '.join(entry.params) or 'none'}.",
        ) from error
    except ValueError:
        pass  # a function written in C has no signature to compare with
    try:
        return function(**arguments)
    except Exception as error:
        raise UserError(
            f"The tool {entry.name!r} failed: {type(error).__name__}: {error}.",
            advice="Check its arguments and what its package needs.",
        ) from error


def _import(entry: CatalogueEntry, module: str, name: str, package: str) -> Any:
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        missing = error.name or module
        raise UserError(
            f"The tool {entry.name!r} cannot be called: the package {missing.split('.')[0]!r} is not installed."
            if missing.split(".")[0] != package or missing == package
            else f"The tool {entry.name!r} cannot be called: the installed {package} has no module {missing!r}.",
            advice=f"Install it with `pip install {missing.split('.')[0]}`, then try again.",
        ) from error
    except Exception as error:
        raise UserError(
            f"The tool {entry.name!r} cannot be called: importing {module} failed ({type(error).__name__}: {error}).",
            advice=f"Check the installation of {package}.",
        ) from error
    if not callable(function):
        raise UserError(
            f"The tool {entry.name!r} cannot be called: {module} has no function {name!r}.",
            advice=f"The installed {package} differs from the catalogue; import the catalogue again.",
        )
    return function
