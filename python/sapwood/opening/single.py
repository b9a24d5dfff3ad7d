"""Opening one file."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import datetime
from typing import Any

from ..errors import UsageError
from ..model.directory import split_cycle
from ..model.file import File
from ..options.paths import CATALOGUED, FileSpec, is_url, single_file
from ..options.reading import OpenOptions, open_options
from .catalogued import catalogued


def open(
    path: Any,
    *,
    version: int | str | None = None,
    as_of: datetime | float | None = None,
    deadline: float | None = None,
    threads: int | None = None,
    **options: Any,
) -> Any:
    """Opens a ROOT file, or an object in it; or a dataset of product stripes.

    Args:
        path: a path or URL, with the path of an object in the file after a colon: ``"file.root:dir/Tree"``.
            (Only ``.root:`` or ``.root.1:`` ends the name of a file.) A ``pathlib.Path`` is never split. Also
            ``{path: object path or None}``, an object with ``read`` and ``seek``, or the file's bytes. A
            dataset that is in the catalogue of this user may be named: ``"catalog:ttbar"``.
        version: of a dataset: a number, or the name of a tag; may also stand behind its path:
            ``"s3://bucket/ttbar@v12"``. Default: the newest.
        as_of: of a dataset: the newest version at a moment, given as a ``datetime`` (with a time zone, or
            local) or in seconds since 1970.
        deadline: seconds that this call, and each later read of the file, may take. Default: an hour (a
            server that does not answer is given up long before).
        threads: threads that decompress and decode. Default: the environment variable ``SAPWOOD_THREADS``,
            else all cores.
        options: ``headers={name: value}`` are sent with every HTTP request. For object stores (``s3://``,
            ``gs://``, ``az://``): ``endpoint`` (URL of the service), ``region``, ``anonymous``, ``profile``,
            ``access_key_id`` and ``secret_access_key`` with ``session_token``, ``path_style``, ``account``;
            what is not given is looked for in the environment. ``replicas`` says where else the file is:
            URLs, prefixes of its path (``"root://host//"``), rules ``{beginning: prefixes}``, a function
            from its name to these, a metalink, or what Rucio lists; at most ``sources=2`` are read at once,
            and one that fails is left. With them, the path may be a logical name, such as
            ``/store/x.root``. ``lazy_download=True`` (or the size of a block, such as ``"64 MB"``) reads a
            remote file in blocks that are kept in a temporary file of at most ``scratch_size``;
            ``cache=directory`` keeps them there, for all processes, up to ``cache_size``, and asks no
            server for the version of a file that was seen in the last ``cache_max_age`` seconds. Of a
            dataset, ``log`` is the :class:`sapwood.catalog.DatabaseLog` that it has in a database, or the
            URL of that database; and ``storage_rules`` are the options of its other locations in object
            stores, by URL prefix: ``{"s3://archive/": {"endpoint": …, "profile": …}}``. ``retry`` is a
            :class:`sapwood.RetryPolicy`; ``read_timeout`` seconds after the last byte, a request is
            repeated. Options of uproot that tune its caches are accepted, without effect; its ``timeout``
            is taken for ``deadline``.

    Returns:
        A :class:`sapwood.File`, or the :class:`sapwood.Tree`, :class:`sapwood.Branch`, directory or other
        object (:mod:`sapwood.objects`) that the object path leads to; of a dataset,
        its tree.

    Raises:
        FileNotFoundError: if there is no such file.
        KeyInFileError: if there is no such object in it; it names the nearest.
        NotRootError, CorruptFileError: if it is not a (sound) ROOT file.
        DeadlineError: if it takes too long.
    """
    spec = single_file(path)
    if version is not None or as_of is not None:
        spec = replace(spec, file=_at_version(spec.file, version, as_of))
    return open_spec(spec, open_options(deadline, threads, options))


def open_spec(spec: FileSpec, options: OpenOptions) -> Any:
    """Opens what a :class:`FileSpec` describes."""
    where = spec.file
    if isinstance(where, str) and where.startswith(CATALOGUED):
        where, log = catalogued(where)
        options = replace(options, log=options.log or log)
    elif isinstance(where, str) and not is_url(where):
        where = os.path.expanduser(where)
    file = File(where, options)
    object_path = spec.object_path or file.dataset_tree
    if object_path is None:
        return file
    try:
        return file[object_path]
    except BaseException:
        file.close()
        raise


def is_dataset_tree(found: Any) -> bool:
    """Whether it is the tree that a dataset is opened as."""
    path = split_cycle(getattr(found, "object_path", ""))[0]
    return bool(path) and path == found.file.dataset_tree


def core_input(spec: FileSpec, options: OpenOptions) -> Any:
    """What the core is given to open by itself: a place and its options; or what is open already."""
    where = spec.file
    if isinstance(where, str) and not where.startswith(CATALOGUED) and options.log is None:
        where = where if is_url(where) else os.path.expanduser(where)
        return where, options.for_core(options.replicas_of(where))
    if not isinstance(where, str) and hasattr(where, "num_entries"):
        return where.file._core
    found = open_spec(FileSpec(where), options)
    return found.file._core


def _at_version(where: Any, version: int | str | None, as_of: datetime | float | None) -> str:
    """The path or URL of a dataset at one of its versions."""
    if not isinstance(where, str):
        raise UsageError("a version is one of a dataset, which is opened by its path or URL")
    if version is not None and as_of is not None:
        raise UsageError("a dataset is opened at a version or as of a moment, not both")
    if as_of is not None:
        seconds = as_of.timestamp() if isinstance(as_of, datetime) else float(as_of)
        return f"{where}@time:{round(seconds * 1000)}"
    return f"{where}@v{version}" if isinstance(version, int) else f"{where}@{version}"
