"""Options of opening and reading, with their defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import UsageError, nearest
from .blocks import NAMES as BLOCK_NAMES
from .blocks import Blocks, block_options
from .paths import is_url
from .replicas import Places, Replicas, check_sources, replicas
from .storage import NAMES as STORAGE_NAMES
from .storage import SECRETS, base_options, check_keys, storage_option

if TYPE_CHECKING:
    from ..history.logs import Log

# Options of uproot that tune its caches and threads. Scripts that set them work here too; sapwood has nothing
# to tune by them. What would change a result ("custom_classes", "handler") is refused instead.
_WITHOUT_EFFECT = frozenset(
    {
        "object_cache",
        "array_cache",
        "decompression_executor",
        "interpretation_executor",
        "num_workers",
        "use_threads",
        "num_fallback_workers",
        "begin_chunk_size",
        "minimal_ttree_metadata",
        "max_num_elements",
        "http_max_header_bytes",
    }
)


@dataclass(frozen=True)
class OpenOptions:
    """What :func:`sapwood.open` was told; every later read of the file follows it.

    Attributes:
        deadline: seconds that one call may take (open, arrays, or one step of iterate); None for an hour.
        threads: threads that decompress and decode; None for ``SAPWOOD_THREADS``, else all cores.
        headers: sent with every HTTP request. They may be secret: they are not shown, and never pickled.
        storage: how object stores are reached. Keys among it are not shown, and never pickled.
        replicas: where else files are; URLs among it that hold secrets are never pickled.
        sources: most places that one file is read from at once; None for 2.
        blocks: how files are read in blocks that are kept; None for not at all.
        log: of a dataset, its log, if that is in a database, or the URL of that.
        bases: of a dataset, how other places of its objects are reached, by the beginnings of their URLs.
            Keys among it are not shown, and never pickled.
    """

    deadline: float | None = None
    threads: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)
    replicas: Replicas | None = field(default=None, repr=False)
    sources: int | None = None
    blocks: Blocks | None = None
    log: Log = field(default=None, repr=False)
    bases: tuple[tuple[str, Mapping[str, Any]], ...] = field(default=(), repr=False)

    @property
    def has_secrets(self) -> bool:
        """Whether headers, keys, or URLs that hold secrets were given: these are never pickled."""
        hides = self.replicas is not None and self.replicas.has_secrets
        if isinstance(self.log, (str, os.PathLike)):
            log = os.fspath(self.log)
            hides = hides or (is_url(log) and _core.redact(log) != log)
        else:
            hides = hides or (self.log is not None and self.log.has_secrets)
        stores = [self.storage, *(storage for _, storage in self.bases)]
        return bool(self.headers) or hides or not all(SECRETS.isdisjoint(storage) for storage in stores)

    def places_of(self, name: str) -> Places:
        """Where else the file of this name is."""
        return Places() if self.replicas is None else self.replicas.of(name)

    def beside(self, name: str) -> OpenOptions:
        """The options for a file beside one that was opened with these, which calls it so."""
        return self if self.replicas is None else replace(self, replicas=self.replicas.beside(name))

    def pickled(self, name: str) -> OpenOptions:
        """The options for the copy of a file of this name."""
        return self if self.replicas is None else replace(self, replicas=self.replicas.pickled(name))

    def for_core(self) -> dict[str, Any]:
        """The options that the core is handed when it opens or lists something."""
        sources = {} if self.sources is None else {"sources": self.sources}
        blocks = {} if self.blocks is None else self.blocks.for_core()
        bases = {"bases": {rule: dict(storage) for rule, storage in self.bases}} if self.bases else {}
        return {"headers": dict(self.headers), **self.storage, **sources, **blocks, **bases}

    def deadline_or(self, deadline: float | None) -> float | None:
        """The deadline of one call: its own, if it has one."""
        return self.deadline if deadline is None else check_deadline(deadline)

    def threads_or(self, threads: int | None) -> int | None:
        """The threads of one call: its own number, if it has one."""
        return self.threads if threads is None else check_threads(threads)


def open_options(deadline: float | None, threads: int | None, options: Mapping[str, Any]) -> OpenOptions:
    """Checks the arguments of :func:`sapwood.open`."""
    headers: dict[str, str] = {}
    storage: dict[str, Any] = {}
    further: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for name, value in options.items():
        if name in _WITHOUT_EFFECT:
            continue
        if name == "timeout":
            deadline = value if deadline is None else deadline
        elif name == "headers":
            headers = {str(header): str(text) for header, text in value.items()}
        elif name == "replicas":
            further["replicas"] = replicas(value)
        elif name == "log":
            further["log"] = value
        elif name == "bases":
            further["bases"] = base_options(value)
        elif name == "sources":
            further["sources"] = None if value is None else check_sources(value)
        elif name in BLOCK_NAMES:
            kept[name] = value
        elif name in STORAGE_NAMES:
            name, value = storage_option(name, value)
            storage |= {} if value is None else {name: value}
        else:
            known = [
                "bases",
                "deadline",
                "headers",
                "log",
                "replicas",
                "sources",
                "threads",
                "timeout",
                *BLOCK_NAMES,
                *STORAGE_NAMES,
                *_WITHOUT_EFFECT,
            ]
            near = nearest(name, known)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"open has no option {name!r}{hint}")
    check_keys(storage)
    further["blocks"] = block_options(kept)
    if deadline is not None:
        deadline = check_deadline(deadline)
    if threads is None and os.environ.get("SAPWOOD_THREADS"):
        threads = _environment_threads(os.environ["SAPWOOD_THREADS"])
    threads = None if threads is None else check_threads(threads)
    return OpenOptions(deadline, threads, headers, storage, **further)


def check_deadline(deadline: float) -> float:
    """Seconds, as a positive number."""
    if isinstance(deadline, bool) or not isinstance(deadline, (int, float)):
        raise TypeError(f"a deadline is a number of seconds, not {deadline!r}")
    if not deadline > 0 or math.isinf(deadline):
        raise UsageError(f"a deadline is a positive number of seconds, not {deadline!r}")
    return float(deadline)


def check_threads(threads: int) -> int:
    """A number of threads, at least one."""
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"'threads' is a whole number, not {threads!r}")
    if threads < 1:
        raise UsageError(f"'threads' is at least 1, not {threads}")
    return threads


def _environment_threads(text: str) -> int:
    try:
        return check_threads(int(text))
    except ValueError:
        raise UsageError(f"SAPWOOD_THREADS is a number of threads, at least 1, not {text!r}") from None
