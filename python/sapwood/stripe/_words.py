"""Conversion between the arguments and results of datasets and those of the core."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from .. import _core
from ..errors import ArgumentTypeError
from ..options.checks import check_switch, check_text, check_texts, check_whole_number
from ..options.compression import Compression
from ..options.memory import memory_size
from ..options.reading import OpenOptions
from ._results import Written


class ConsolidateKeywords(TypedDict, total=False):
    """The options of :func:`create` that say how objects are written, but for ``stripe_size``."""

    compression: Compression | str | int | None
    batch: int | None
    group: bool
    pad: int
    statistics: bool
    who: str | None
    job: tuple[str, int] | None
    parameters: Mapping[str, str] | None
    base: str | None


class WritingKeywords(ConsolidateKeywords, total=False):
    """The same with ``stripe_size``."""

    stripe_size: int | str | None


def writing_options(
    options: OpenOptions,
    *,
    compression: Compression | str | int | None = None,
    stripe_size: int | str | None = None,
    batch: int | None = None,
    group: bool = True,
    pad: int = 0,
    statistics: bool = True,
    who: str | None = None,
    job: tuple[str, int] | None = None,
    parameters: Mapping[str, str] | None = None,
    base: str | None = None,
    branches: list[str] | None = None,
    entries: list[list[tuple[int, int]]] | None = None,
) -> _core.WriteOptions:
    """The options of writing, as the core takes them."""
    size = None if stripe_size is None else check_whole_number("stripe_size", memory_size(stripe_size), 1)
    return _core.WriteOptions(
        compression=None if compression is None else Compression.of(compression).code,
        stripe_size=size,
        batch=None if batch is None else check_whole_number("batch", batch, 1),
        group=check_switch("group", group),
        pad=check_whole_number("pad", pad),
        statistics=check_switch("statistics", statistics),
        threads=options.threads,
        who=None if who is None else check_text("who", who),
        job=None if job is None else _job(job),
        parameters=checked_parameters(parameters),
        base=None if base is None else check_text("base", base),
        branches=branches,
        entries=entries,
    )


def checked_parameters(parameters: Any) -> dict[str, str]:
    """A dict of strings, or None for an empty one."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ArgumentTypeError(f"'parameters' must be a dict of strings, not {parameters!r}")
    given = dict(parameters or {})
    return {check_text("parameters", name): check_text("parameters", value) for name, value in given.items()}


def _job(job: Any) -> tuple[str, int]:
    if not isinstance(job, (tuple, list)) or len(job) != 2:
        raise ArgumentTypeError(
            f"'job' must be a pair of its name and the number of its attempt, not {job!r}"
        )
    return check_text("job", job[0]), check_whole_number("job", job[1], 1)


def written(result: dict[str, Any]) -> Written:
    """The result of writing, from that of the core."""
    return Written(**{**result, "notes": tuple(result["notes"])})


def product_names(products: str | Sequence[str] | None) -> list[str] | None:
    """The names of products, as an argument of the core."""
    return None if products is None else check_texts("products", products)


def version_name(version: int | str | None) -> str:
    """A version, as an argument of the core."""
    if version is None:
        return "latest"
    return f"v{version}" if isinstance(version, int) else check_text("version", version)


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function, and a checksum of its source if that is available."""
    name = getattr(function, "__qualname__", repr(function))
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return str(name)
    return f"{name} sha256:{hashlib.sha256(source.encode()).hexdigest()[:16]}"
