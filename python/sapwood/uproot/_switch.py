"""Turns sapwood on and off under uproot's names."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import uproot
import uproot.behaviors.TBranch as machinery
from uproot.reading import ReadOnlyFile

from ..errors import SapwoodWarning

_EXPECTED = {
    "_regularize_expressions": "hasbranches expressions cut filter_name filter_typename filter_branch keys "
    "aliases language get_from_cache",
    "_regularize_branchname": "hasbranches branchname branch interpretation get_from_cache arrays "
    "expression_context branchid_interpretation is_primary is_cut",
    "_ranges_or_baskets_to_arrays": "hasbranches ranges_or_baskets branchid_interpretation entry_start "
    "entry_stop decompression_executor interpretation_executor library arrays update_ranges_or_baskets "
    "interp_options",
    "_fix_asgrouped": "arrays expression_context branchid_interpretation library how ak_add_doc",
    "_regularize_step_size": "hasbranches step_size entry_start entry_stop branchid_interpretation",
    "_regularize_entries_start_stop": "num_entries entry_start entry_stop",
    "_regularize_executors": "decompression_executor interpretation_executor file",
    "_regularize_array_cache": "array_cache file",
    "_regularize_aliases": "hasbranches aliases",
    "_regularize_interpretation": "interpretation",
    "_keys_deep": "hasbranches",
    "_ak_add_doc": "array hasbranches ak_add_doc",
}
"""The functions of uproot that this package calls, with their parameters."""

_ORIGINALS: dict[str, Any] = {}


def unexpected() -> str | None:
    """How uproot differs from what this package was written for; None if it does not."""
    for name, parameters in _EXPECTED.items():
        function = getattr(machinery, name, None)
        if function is None or list(inspect.signature(function).parameters) != parameters.split():
            return f"its function {name} is not as expected"
    for name in ("_eager_arrays", "iterate"):
        if not hasattr(machinery.HasBranches, name):
            return f"its trees have no method {name}"
    if not hasattr(ReadOnlyFile, _HOOK):
        return f"its files have no method {_HOOK}"
    try:
        from . import _bytes, _models  # noqa: F401  they import what they need of uproot

        _models.lazy_classes()
    except (ImportError, AttributeError) as error:
        return f"it is built otherwise ({error})"
    return None


def switch_on() -> bool:
    """Lets uproot read trees with sapwood; returns whether that is possible.

    It is not if uproot's internals differ from what was expected: then one warning says so, and uproot reads
    alone.
    """
    reason = unexpected()
    if reason is not None:
        message = f"uproot {uproot.__version__} reads without sapwood, because {reason}"
        warnings.warn(message, SapwoodWarning, stacklevel=3)
        return False
    if not _ORIGINALS:
        _answer()
        _ORIGINALS[_HOOK] = getattr(ReadOnlyFile, _HOOK)
        setattr(ReadOnlyFile, _HOOK, _choose_source)
    return True


def _answer() -> None:
    """Puts the classes of sapwood in the places of those of uproot."""
    from ._models import lazy_classes

    for name, lazy in lazy_classes().items():
        _ORIGINALS[name] = uproot.classes.get(name)
        uproot.classes[name] = lazy


def switch_off() -> None:
    """Lets uproot read everything itself again; open files stay as they are."""
    if _ORIGINALS:
        setattr(ReadOnlyFile, _HOOK, _ORIGINALS.pop(_HOOK))
    for name in list(_ORIGINALS):
        original = _ORIGINALS.pop(name)
        if original is None:
            uproot.classes.pop(name, None)
        else:
            uproot.classes[name] = original


_HOOK = "hook_before_create_source"
"""What uproot calls on a new file whose options are known."""


def _choose_source(file: Any, **arguments: Any) -> None:
    """Reads a file that has no other source through sapwood."""
    from ._bytes import SapwoodSource
    from ._models import forget_classes

    if uproot.classes.get("TTree") is uproot.models.TTree.Model_TTree:  # since uproot.reset_classes()
        forget_classes()
        _answer()
    _ORIGINALS[_HOOK](file, **arguments)
    if file.options["handler"] is None and isinstance(file.file_path, str):
        file.options["handler"] = SapwoodSource
