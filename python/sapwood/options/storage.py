"""Options of object stores (s3://, gs://, az://), under the names that other libraries gave them, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..errors import UsageError, nearest

SECRETS: Final = frozenset({"access_key_id", "secret_access_key", "session_token"})
"""What is never shown, and never pickled."""

_TEXTS: Final = frozenset({"endpoint", "region", "profile", "account", *SECRETS})
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

NAMES: Final = frozenset({*_TEXTS, *_SWITCHES, *_OTHER_NAMES})
"""All names that are understood."""


def storage_option(name: str, value: Any) -> tuple[str, Any]:
    """The name that sapwood has for an option, and its value, checked."""
    name = _OTHER_NAMES.get(name, name)
    expected = bool if name in _SWITCHES else str
    if value is not None and not isinstance(value, expected):
        shown = "" if name in SECRETS else f", not {value!r}"
        raise TypeError(f"the option {name!r} is a {expected.__name__}{shown}")
    if name == "endpoint" and value is not None:
        return name, _endpoint(str(value))
    return name, value


def base_options(rules: Any) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The options of places by the beginnings of their URLs, checked.

    >>> base_options({"s3://archive/": {"profile": "tape"}})
    (('s3://archive/', {'profile': 'tape'}),)
    """
    if not isinstance(rules, Mapping) or not all(isinstance(one, Mapping) for one in rules.values()):
        raise TypeError("'bases' are options by beginnings of URLs: {'s3://bucket/': {'profile': 'name'}}")
    checked = []
    for rule, options in rules.items():
        unknown = next((name for name in options if name not in NAMES), None)
        if unknown is not None:
            hint = nearest(unknown, sorted(NAMES))
            raise TypeError(
                f"{unknown!r} is no option of a place{f'; did you mean {hint[0]!r}?' if hint else ''}"
            )
        own = dict(storage_option(name, value) for name, value in options.items())
        own = {name: value for name, value in own.items() if value is not None}
        check_keys(own)
        checked.append((str(rule), own))
    return tuple(checked)


def _endpoint(url: str) -> str:
    url = url if "://" in url else f"https://{url}"
    if not url.startswith(("http://", "https://")):
        raise UsageError("an endpoint is an http or https URL")
    return url


def check_keys(options: dict[str, Any]) -> None:
    """Raises an error if only half of an access key is given."""
    halves = [options.get(name) is None for name in ("access_key_id", "secret_access_key")]
    if any(halves) and not all(halves):
        raise UsageError("an access key has two halves: access_key_id and secret_access_key")
