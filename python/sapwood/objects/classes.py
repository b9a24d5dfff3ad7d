"""Chooses the Python class for an object of a C++ class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .axis import Axis
from .graph import Graph, Parameter, is_graph
from .histogram import Histogram, is_histogram
from .instance import Instance, Object
from .profile import Profile


class String(str):
    """The text of a ``TObjString``.

    Attributes:
        unique_id: ``fUniqueID``; for the label of an axis, this is the number of its bin. Default: 0.
    """

    unique_id: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (String, (str(self),), {"unique_id": self.unique_id})


def present(class_name: str, members: Mapping[str, Any]) -> Any:
    """The Python object for an object of a C++ class."""
    if class_name == "TObjString" and "fString" in members:
        text = String(members["fString"])
        text.unique_id = members.get("fUniqueID", 0)
        return text
    return instance_class(class_name, members)(class_name, members)


def instance_class(class_name: str, members: Mapping[str, Any]) -> type[Instance]:
    """The Python class for a C++ class. Classes derived from ROOT's are recognized by their members."""
    if {"fNbins", "fXmin", "fXmax", "fXbins"} <= set(members):
        return Axis
    if is_histogram(members):
        return Profile if {"fBinEntries", "fErrorMode"} <= set(members) else Histogram
    if is_graph(class_name, members):
        return Graph
    if class_name.startswith("TParameter<") and "fVal" in members:
        return Parameter
    return Object
