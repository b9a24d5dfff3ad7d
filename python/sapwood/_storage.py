"""Options of object stores (s3://, gs://, az://), under the names that other libraries gave them, too."""

from __future__ import annotations

from typing import Any, Final

from .errors import UsageError

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
