"""The keywords that :func:`sapwood.open` takes, with their types, for every function that opens files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os

    from ..history.logs import Log
    from .retry import RetryPolicy


class _CommonKeywords(TypedDict, total=False):
    timeout: float | None
    headers: Mapping[str, str] | None
    read_timeout: float | None
    retry: RetryPolicy | None
    page_cache: str | None

    sources: int | None
    probe_interval: float | None

    lazy_download: bool | int | str | None
    scratch_size: int | str | None
    cache: str | os.PathLike[str] | bool | None
    cache_form: str | None
    cache_size: int | str | None
    cache_max_age: float | None

    endpoint: str | None
    region: str | None
    anonymous: bool | None
    path_style: bool | None
    account: str | None
    access_key_id: str | None
    secret_access_key: str | None
    session_token: str | None
    storage_rules: Mapping[str, Mapping[str, Any]] | None
    bases: Mapping[str, Mapping[str, Any]] | None

    # The same under the names of s3fs, obstore, uproot and adlfs.
    anon: bool | None
    endpoint_url: str | None
    key: str | None
    secret: str | None
    skip_signature: bool | None
    access_key: str | None
    secret_key: str | None
    account_name: str | None

    # Options of uproot that tune its caches and threads, which are accepted and ignored.
    object_cache: Any
    array_cache: Any
    decompression_executor: Any
    interpretation_executor: Any
    num_workers: Any
    use_threads: Any
    num_fallback_workers: Any
    begin_chunk_size: Any
    minimal_ttree_metadata: Any
    max_num_elements: Any
    http_max_header_bytes: Any


class _LogKeyword(TypedDict, total=False):
    log: Log


class _ProfileKeyword(TypedDict, total=False):
    profile: str | None


class _ReplicaKeyword(TypedDict, total=False):
    replicas: Any


class OpenKeywords(_CommonKeywords, _LogKeyword, _ProfileKeyword, _ReplicaKeyword, total=False):
    """Options by name; :func:`sapwood.open` says what they mean. None stands for the default."""


class DatasetKeywords(_CommonKeywords, _ProfileKeyword, _ReplicaKeyword, total=False):
    """Those of functions whose ``log`` is that of one dataset."""


class EventKeywords(_CommonKeywords, _LogKeyword, _ReplicaKeyword, total=False):
    """Those of functions whose ``profile`` is one of columns."""


class ReplayKeywords(_CommonKeywords, _LogKeyword, _ProfileKeyword, total=False):
    """Those of functions whose ``replicas`` are links."""
