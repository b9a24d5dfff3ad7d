"""Options of opening and reading. The core has the defaults of options that are None."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import ArgumentTypeError, UsageError
from .blocks import NAMES as BLOCK_NAMES
from .blocks import BlockOptions, ColumnCache, block_options, column_cache
from .keywords import OpenKeywords
from .paths import is_url
from .replicas import FileReplicas, Replicas, check_probe_interval, check_sources, replicas
from .retry import RetryPolicy, check_retry
from .storage import NAMES as STORAGE_NAMES
from .storage import SECRETS, StorageOptions, storage_options, storage_rules
from .unknown import unknown_option

if TYPE_CHECKING:
    from ..history.logs import Log

# Options of uproot that tune its caches and threads: accepted, so that scripts run unchanged, and ignored.
# Options that would change a result ("custom_classes", "handler") are refused instead.
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

# Each of these checks its value. None stands for the default.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "headers": lambda headers: _headers(headers),
    "log": lambda log: _log(log),
    "page_cache": lambda value: _page_cache("'page_cache'", value),
    "probe_interval": check_probe_interval,
    "read_timeout": lambda seconds: _positive_seconds("'read_timeout'", seconds),
    "replicas": replicas,
    "retry": check_retry,
    "sources": check_sources,
    "storage_rules": storage_rules,
}

WITHOUT_SECRETS = (
    "headers, keys, and URLs with a password, token or query are never pickled. Let each process find its "
    "own credentials, in files or variables such as BEARER_TOKEN_FILE, X509_USER_PROXY or AWS_PROFILE; "
    "sapwood.dask.WorkerEnvironment sets variables of dask workers"
)
"""Why an object that would send secrets to another process is not pickled, and what to do."""

_OTHER_NAMES = {"bases": "storage_rules"}

# What other functions and libraries call an option, and what it may be called here.
_MEANT = {
    **dict.fromkeys(
        ("columns", "branches", "fields", "filter_name", "filter_branch"), ("keep", "expressions")
    ),
    **dict.fromkeys(("algorithm", "codec", "compression_level", "level"), ("compression",)),
    **dict.fromkeys(("selection", "where"), ("cut",)),
    **dict.fromkeys(("entries", "entrystart", "start"), ("entry_start",)),
    **dict.fromkeys(("entrystop", "stop", "max_events", "nentries"), ("entry_stop",)),
    **dict.fromkeys(("batch_size", "chunk_size", "chunksize", "chunks", "entrysteps"), ("step_size",)),
    **dict.fromkeys(("treename", "tree_name", "treepath"), ("tree", "trees")),
    "mode": ("overwrite",),
}


@dataclass(frozen=True)
class OpenOptions:
    """The options of :func:`sapwood.open`; every later read of the file follows them.

    Attributes:
        deadline: seconds that one call may take (open, arrays, or one step of iterate); None for an hour.
        threads: threads that decompress and decode; None for ``SAPWOOD_THREADS``, else all cores.
        headers: sent with every HTTP request. They may be secret: they are not shown, and never pickled.
        storage: how to reach object stores. Its keys are not shown, and never pickled.
        replicas: other locations of the file; URLs with secrets are never pickled.
        sources: most replicas of one file that are read at once; None for 2.
        probe_interval: while that many are read, seconds until a further replica is opened and probed,
            doubled each time; 0 for never, None for 5.
        lazy_download: how to read files in blocks that are kept; None for not at all.
        column_cache: where to keep decoded columns; None for nowhere.
        log: of a dataset, its log, if that is in a database, or the URL of that.
        storage_rules: how to reach other object stores that a dataset names, by URL prefix. Keys among them
            are not shown, and never pickled.
        read_timeout: seconds after which a request to a silent server is repeated; None for 30.
        retry: how failed requests are repeated; None for four tries.
        read_type: for monitoring, what the file is to the job, in CMSSW's words: "primary", "secondary" (one
            that another file refers to) or "embedded" (of a pool of background events).
        page_cache: "drop" if the pages of local files are dropped from the memory of the system after they
            are read; "keep" if they stay there; None for ``SAPWOOD_PAGE_CACHE``, else "keep".
    """

    deadline: float | None = None
    threads: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    storage: StorageOptions = field(default_factory=StorageOptions, repr=False)
    replicas: Replicas | None = field(default=None, repr=False)
    sources: int | None = None
    probe_interval: float | None = None
    lazy_download: BlockOptions | None = None
    column_cache: ColumnCache | None = None
    log: Log = field(default=None, repr=False)
    storage_rules: tuple[tuple[str, StorageOptions], ...] = field(default=(), repr=False)
    read_timeout: float | None = None
    retry: RetryPolicy | None = None
    read_type: str = "primary"
    page_cache: str | None = None

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Two fields had other names in older pickles.
        renamed = {"blocks": "lazy_download", "bases": "storage_rules"}
        self.__dict__.update({renamed.get(name, name): value for name, value in state.items()})

    @property
    def has_secrets(self) -> bool:
        """Whether they hold headers, keys, or URLs with secrets: these are never pickled."""
        if self.headers or (self.replicas is not None and self.replicas.has_secrets):
            return True
        if isinstance(self.log, (str, os.PathLike)):
            log = os.fspath(self.log)
            if is_url(log) and _core.redact(log) != log:
                return True
        elif self.log is not None and self.log.has_secrets:
            return True
        stores = [self.storage, *(storage for _, storage in self.storage_rules)]
        return any(not SECRETS.isdisjoint(storage) for storage in stores)

    def replicas_of(self, name: str) -> FileReplicas:
        """The other locations of the file of this name."""
        return FileReplicas() if self.replicas is None else self.replicas.of(name)

    def beside(self, name: str) -> OpenOptions:
        """The options for the file that this one refers to by ``name``, relative to itself."""
        found = None if self.replicas is None else self.replicas.beside(name)
        kind = "secondary" if self.read_type == "primary" else self.read_type
        return replace(self, replicas=found, read_type=kind)

    def pickled(self, name: str) -> OpenOptions:
        """The options for the copy of a file of this name."""
        return self if self.replicas is None else replace(self, replicas=self.replicas.pickled(name))

    def for_core(self, replicas: FileReplicas | None = None) -> _core.OpenOptions:
        """These options, as the core takes them to open or list something that has these replicas."""
        return _core.OpenOptions(
            headers=list(self.headers.items()),
            storage=_core.StorageOptions(**self.storage),
            storage_rules=[(prefix, _core.StorageOptions(**one)) for prefix, one in self.storage_rules],
            read_timeout=self.read_timeout,
            retry=None if self.retry is None else self.retry.for_core(),
            replicas=() if replicas is None else replicas.urls,
            documents=() if replicas is None else replicas.documents,
            sources=self.sources,
            probe_interval=self.probe_interval,
            lazy_download=None if self.lazy_download is None else self.lazy_download.for_core(),
            column_cache=None if self.column_cache is None else self.column_cache.for_core(),
            drop_pages=self.page_cache == "drop",
        )

    def deadline_or(self, deadline: float | None) -> float | None:
        """The deadline of one call: its own, if it has one."""
        return self.deadline if deadline is None else check_deadline(deadline)

    def threads_or(self, threads: int | None) -> int | None:
        """The threads of one call: its own number, if it has one."""
        return self.threads if threads is None else check_threads(threads)


def open_options(
    deadline: float | None,
    threads: int | None,
    options: Mapping[str, Any],
    function: Callable[..., Any] | None = None,
) -> OpenOptions:
    """Checks the arguments of :func:`sapwood.open`, which ``function`` takes beside its own."""
    checked: dict[str, Any] = {}
    storage: dict[str, Any] = {}
    blocks: dict[str, Any] = {}
    for given, value in options.items():
        name = _OTHER_NAMES.get(given, given)
        if name == "timeout":
            deadline = value if deadline is None else deadline
        elif name in _CHECKS:
            if value is not None:
                checked[name] = _CHECKS[name](value)
        elif name in BLOCK_NAMES:
            blocks[name] = value
        elif name in STORAGE_NAMES:
            storage[name] = value
        elif name not in _WITHOUT_EFFECT:
            raise _unknown(name, function)
    if threads is None and os.environ.get("SAPWOOD_THREADS"):
        threads = _environment_threads(os.environ["SAPWOOD_THREADS"])
    if "page_cache" not in checked and os.environ.get("SAPWOOD_PAGE_CACHE"):
        checked["page_cache"] = _page_cache("SAPWOOD_PAGE_CACHE", os.environ["SAPWOOD_PAGE_CACHE"])
    return OpenOptions(
        deadline=None if deadline is None else check_deadline(deadline),
        threads=None if threads is None else check_threads(threads),
        storage=storage_options(storage),
        lazy_download=block_options(blocks),
        column_cache=column_cache(blocks),
        **checked,
    )


def check_deadline(deadline: float) -> float:
    """Checks a positive number of seconds."""
    return _positive_seconds("a deadline", deadline)


def check_threads(threads: int) -> int:
    """Checks a number of threads, at least one."""
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise ArgumentTypeError(f"'threads' must be a whole number, not {threads!r}")
    if threads < 1:
        raise UsageError(f"'threads' must be at least 1, not {threads}")
    return threads


def _headers(headers: Any) -> dict[str, str]:
    if not isinstance(headers, Mapping):
        # Not shown: it may be secret.
        raise ArgumentTypeError(f"'headers' must be a dict, not of type {type(headers).__name__}")
    return {str(name): str(value) for name, value in headers.items()}


def _log(log: Any) -> Any:
    if not isinstance(log, (str, os.PathLike)) and not hasattr(log, "url"):
        raise ArgumentTypeError(f"'log' must be a URL or a log, not {log!r}")
    return log


def _positive_seconds(name: str, seconds: Any) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise ArgumentTypeError(f"{name} must be a number of seconds, not {seconds!r}")
    if not seconds > 0 or math.isinf(seconds):
        raise UsageError(f"{name} must be a positive number of seconds, not {seconds!r}")
    return float(seconds)


def _unknown(name: str, function: Callable[..., Any] | None) -> ArgumentTypeError:
    own = (
        []
        if function is None
        else [
            parameter.name
            for parameter in inspect.signature(function).parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
    )
    known = sorted({"deadline", "threads", *OpenKeywords.__annotations__, *own})
    meant = next((meant for meant in _MEANT.get(name, ()) if meant in known), None)
    return unknown_option(getattr(function, "__name__", "open"), name, known, meant)


def _page_cache(name: str, value: Any) -> str:
    if value not in ("keep", "drop"):
        raise UsageError(f"{name} must be 'keep' or 'drop', not {value!r}")
    return str(value)


def _environment_threads(text: str) -> int:
    try:
        return check_threads(int(text))
    except ValueError:
        raise UsageError(f"SAPWOOD_THREADS must be a number of threads, at least 1, not {text!r}") from None
