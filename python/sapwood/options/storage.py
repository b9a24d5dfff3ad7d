"""Options of object stores (s3://, gs://, az://), under the names of other libraries, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict, cast

from ..errors import ArgumentTypeError, UsageError, nearest


class StorageOptions(TypedDict, total=False):
    """How to reach object stores, under the names of the core: see ``_core.StorageOptions``."""

    endpoint: str
    region: str
    anonymous: bool
    profile: str
    path_style: bool
    account: str
    access_key_id: str
    secret_access_key: str
    session_token: str


SECRETS: Final = frozenset({"access_key_id", "secret_access_key", "session_token"})
"""Options that are never shown, and never pickled."""

_SWITCHES: Final = frozenset({"anonymous", "path_style"})

_OTHER_NAMES: Final = {
    # s3fs
    "anon": "anonymous",
    "endpoint_url": "endpoint",
    "key": "access_key_id",
    "secret": "secret_access_key",
    # obstore
    "skip_signature": "anonymous",
    # uproot, minio
    "access_key": "access_key_id",
    "secret_key": "secret_access_key",
    # adlfs
    "account_name": "account",
}

NAMES: Final = frozenset({*StorageOptions.__annotations__, *_OTHER_NAMES})
"""All accepted names."""


def storage_options(options: Mapping[str, Any]) -> StorageOptions:
    """Checks options of object stores, and gives them sapwood's names.

    >>> storage_options({"anon": True, "endpoint": "s3.example.org", "region": None})
    {'anonymous': True, 'endpoint': 'https://s3.example.org'}
    """
    pairs = [_storage_option(name, value) for name, value in options.items()]
    checked = {name: value for name, value in pairs if value is not None}
    if ("access_key_id" in checked) != ("secret_access_key" in checked):
        raise UsageError("an access key has two halves: access_key_id and secret_access_key")
    return cast("StorageOptions", checked)


def storage_rules(rules: Any) -> tuple[tuple[str, StorageOptions], ...]:
    """Checks options of object stores by URL prefix.

    >>> storage_rules({"s3://archive/": {"profile": "tape"}})
    (('s3://archive/', {'profile': 'tape'}),)
    """
    if not isinstance(rules, Mapping) or not all(isinstance(one, Mapping) for one in rules.values()):
        raise ArgumentTypeError(
            "'storage_rules' must be options by URL prefix: {'s3://bucket/': {'profile': 'name'}}"
        )
    for options in rules.values():
        for name in options:
            if name not in NAMES:
                near = nearest(name, sorted(NAMES))
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise ArgumentTypeError(f"unknown option {name!r} of an object store{hint}")
    return tuple((str(prefix), storage_options(options)) for prefix, options in rules.items())


def _storage_option(name: str, value: Any) -> tuple[str, Any]:
    name = _OTHER_NAMES.get(name, name)
    expected = bool if name in _SWITCHES else str
    if value is not None and not isinstance(value, expected):
        shown = "" if name in SECRETS else f", not {value!r}"
        raise ArgumentTypeError(f"the option {name!r} must be a {expected.__name__}{shown}")
    if name == "endpoint" and value is not None:
        return name, _endpoint(str(value))
    return name, value


def _endpoint(url: str) -> str:
    url = url if "://" in url else f"https://{url}"
    if not url.startswith(("http://", "https://")):
        raise UsageError("an endpoint must be an http or https URL")
    return url
