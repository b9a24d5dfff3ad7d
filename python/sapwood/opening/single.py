"""Opens one file."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentTypeError, UsageError
from ..model.directory import split_cycle
from ..model.file import File
from ..options.paths import CATALOGUED, FileSpec, is_url, single_file
from ..options.reading import OpenOptions, open_options
from .catalogued import catalogued

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..options.keywords import OpenKeywords


def open(
    path: Any,
    *,
    version: int | str | None = None,
    as_of: datetime | float | None = None,
    deadline: float | None = None,
    threads: int | None = None,
    **options: Unpack[OpenKeywords],
) -> Any:
    """Opens a ROOT file or an object in it, or a dataset of product stripes.

    >>> with sapwood.open("https://example.org/nano.root:Events", threads=4) as tree:      # doctest: +SKIP
    ...     muons = tree.arrays(["Muon_pt", "Muon_eta"])

    Args:
        path: a path or URL, optionally followed by a colon and the path of an object in the file:
            ``"file.root:dir/Tree"``. (Only a colon after ``.root`` or ``.root.1`` separates the two.) You can
            also pass a ``pathlib.Path``, which is never split; ``{path: object path or None}``; an object
            with ``read`` and ``seek``; or the file's bytes. ``"catalog:ttbar"`` opens a dataset that is in
            your catalogue.
        version: for a dataset, a version number or the name of a tag. It may also follow the path:
            ``"s3://bucket/ttbar@v12"``. Default: the newest.
        as_of: for a dataset, open the version that was the newest at this time: a ``datetime`` (local time
            if it has no time zone) or seconds since 1970.
        deadline: seconds that this call, and each later read of the file, may take. Default: one hour (a
            server that does not respond is given up much earlier).
        threads: threads that decompress and decode. Default: the environment variable ``SAPWOOD_THREADS``,
            else all cores.
        options: further options by name.

            HTTP: ``headers``, a dict that is sent with every request.

            Object stores (``s3://``, ``gs://``, ``az://``): ``endpoint`` (URL of the service), ``region``,
            ``anonymous``, ``profile``, ``access_key_id``, ``secret_access_key``, ``session_token``,
            ``path_style``, ``account``. Those that you omit are taken from the environment.

            Replicas: ``replicas`` lists other locations of the file: URLs, prefixes for its path
            (``"root://host//"``), rules ``{beginning: prefixes}``, a function that takes its name and
            returns any of these, a metalink, or a replica list from Rucio. At most ``sources`` (default: 2)
            are read at once, and a failing one is replaced. While that many are read, a further one is opened
            and probed after ``probe_interval`` seconds (default: 5, doubled each time; 0 for never), and
            replaces one that is clearly slower. With replicas, ``path`` may be a logical name
            such as ``/store/x.root``.

            Downloads: ``lazy_download=True`` (or a block size such as ``"64 MB"``) downloads a remote file
            block by block into a temporary file of at most ``scratch_size``. ``cache=directory`` keeps the
            blocks there for all processes, up to ``cache_size``; files whose version was checked in the last
            ``cache_max_age`` seconds are not checked again. With ``cache_form="columns"``, the directory
            keeps decoded columns instead, also those of local files.

            Local files: ``page_cache="drop"`` drops their pages from the memory of the system after they are
            read (the last 64 MB when the file and its trees are no longer used), for jobs that read much,
            once. Default: the environment variable ``SAPWOOD_PAGE_CACHE``, else ``"keep"``.

            Datasets: ``log``, a :class:`sapwood.catalog.DatabaseLog` or the URL of its database, if the log
            is in a database; ``storage_rules``, options for other object stores that hold parts of the
            dataset, by URL prefix: ``{"s3://archive/": {"endpoint": …, "profile": …}}``.

            Failures: ``retry`` is a :class:`sapwood.RetryPolicy`; a request is repeated if no byte arrives
            for ``read_timeout`` seconds.

            Compatibility with uproot: options that tune its caches are ignored, and ``timeout`` is used as
            ``deadline``.

    Returns:
        A :class:`sapwood.File` if you name no object; otherwise the :class:`sapwood.Tree`,
        :class:`sapwood.Branch`, directory or other object (:mod:`sapwood.objects`). For a dataset, its tree.

    Raises:
        FileNotFoundError: the file does not exist.
        KeyInFileError: the file has no such object; the message suggests similar names.
        NotRootError, CorruptFileError: the file is not a ROOT file, or is damaged.
        DeadlineError: the deadline passed.
    """
    spec = single_file(path)
    if version is not None or as_of is not None:
        spec = replace(spec, file=_at_version(spec.file, version, as_of))
    return open_spec(spec, open_options(deadline, threads, options))


def open_spec(spec: FileSpec, options: OpenOptions) -> Any:
    """Opens the file or object that a :class:`FileSpec` describes."""
    return open_with_file(spec, options)[1]


def open_with_file(spec: FileSpec, options: OpenOptions) -> tuple[File, Any]:
    """Opens a file and the object in it, which may not refer to its file; without one, the file twice."""
    where = spec.file
    if isinstance(where, str) and where.startswith(CATALOGUED):
        where, log = catalogued(where)
        options = replace(options, log=options.log or log)
    elif isinstance(where, str) and not is_url(where):
        where = os.path.expanduser(where)
    file = File(where, options)
    object_path = spec.object_path or file.dataset_tree
    if object_path is None:
        return file, file
    try:
        return file, file[object_path]
    except BaseException:
        file.close()
        raise


def is_dataset_tree(found: Any) -> bool:
    """Whether an object is the tree of a dataset."""
    path = split_cycle(getattr(found, "object_path", ""))[0]
    return bool(path) and path == found.file.dataset_tree


def core_input(spec: FileSpec, options: OpenOptions) -> Any:
    """An input for the core: a path or URL with options, which the core opens, or an open file."""
    where = spec.file
    if isinstance(where, str) and not where.startswith(CATALOGUED) and options.log is None:
        where = where if is_url(where) else os.path.expanduser(where)
        return where, options.for_core(options.replicas_of(where))
    if not isinstance(where, str) and hasattr(where, "num_entries"):
        return where.file._core
    found = open_spec(FileSpec(where), options)
    return found.file._core


def _at_version(where: Any, version: int | str | None, as_of: datetime | float | None) -> str:
    """The path or URL of a dataset with a version or a time appended."""
    if not isinstance(where, str):
        raise UsageError("'version' and 'as_of' require a dataset that is opened by its path or URL")
    if version is not None and as_of is not None:
        raise UsageError("give 'version' or 'as_of', not both")
    if as_of is not None:
        seconds: Any = as_of.timestamp() if isinstance(as_of, datetime) else as_of
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
            raise ArgumentTypeError(f"'as_of' must be a datetime or seconds since 1970, not {as_of!r}")
        return f"{where}@time:{round(seconds * 1000)}"
    return f"{where}@v{version}" if isinstance(version, int) else f"{where}@{version}"
