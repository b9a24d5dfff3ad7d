"""Other locations of files (``replicas=``): URLs, prefixes, rules, a function, or documents."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .. import _core
from ..errors import ArgumentTypeError, UsageError

# The names by which the core recognizes documents, too (crates/source/src/find).
_DOCUMENT = re.compile(r"[^?#]*\.(?:meta4|metalink|json)(?:[?#].*)?", re.IGNORECASE | re.DOTALL)
_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>[^/?#]*)(?P<path>[^?#]*)", re.DOTALL)
_XROOTD = re.compile(r"x?roots?", re.IGNORECASE)


@dataclass(frozen=True)
class FileReplicas:
    """The other locations of one file.

    Attributes:
        urls: their paths and URLs, and those of documents that list locations; the best first.
        documents: the contents of such documents.
    """

    urls: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.urls or self.documents)


@dataclass(frozen=True)
class Replicas:
    """The argument ``replicas=``: it gives the other locations of any file by its name.

    Attributes:
        items: URLs; those that end in a slash are prefixes of names.
        rules: prefixes of names, and what to replace each with.
        documents: records of Rucio, as JSON.
        function: returns further replicas of a name.
    """

    items: tuple[str, ...] = ()
    rules: tuple[tuple[str, tuple[str, ...]], ...] = ()
    documents: tuple[str, ...] = ()
    function: Callable[[str], Any] | None = None

    @property
    def names_one_file(self) -> bool:
        """Whether they belong to one file only."""
        return any(not item.endswith("/") and not is_document(item) for item in self.items)

    @property
    def has_secrets(self) -> bool:
        """Whether a URL has a password, token or query: such replicas are never pickled."""
        urls = [*self.items, *(url for _, values in self.rules for url in values)]
        return any(_core.redact(url) != url for url in urls) or any(map(_hides, self.documents))

    def of(self, name: str) -> FileReplicas:
        """The locations of one file, except the name itself.

        >>> replicas(["root://a/", "https://b/p/", "s3://c/x.root"]).of("/store/x.root").urls
        ('root://a//store/x.root', 'https://b/p/store/x.root', 's3://c/x.root')
        >>> replicas({"root://a//": ["root://b//", "https://c/"]}).of("root://a//store/x.root").urls
        ('root://b//store/x.root', 'https://c/store/x.root')
        """
        urls = [_joined(item, name) for item in self.items]
        for prefix, values in self.rules:
            if _begins(name, prefix):
                urls += [value + name[len(prefix) :] for value in values]
        documents = list(self.documents)
        if self.function is not None:
            found = replicas(self.function(name))
            if found is not None and found.function is not None:
                raise ArgumentTypeError("the function for replicas must return URLs, not another function")
            more = FileReplicas() if found is None else found.of(name)
            urls += more.urls
            documents += more.documents
        return FileReplicas(tuple(dict.fromkeys(url for url in urls if url != name)), tuple(documents))

    def beside(self, name: str) -> Replicas:
        """The replicas of the file that this one refers to by ``name``, relative to itself."""
        whole = [item.endswith("/") or is_document(item) for item in self.items]
        items = zip(self.items, whole, strict=True)
        return replace(self, items=tuple(item if kept else _core.beside(item, name) for item, kept in items))

    def pickled(self, name: str) -> Replicas:
        """The replicas to open a pickled copy with: functions are replaced by their results."""
        if self.function is None:
            return self
        found = self.of(name)
        return Replicas(items=found.urls, documents=found.documents)


def replicas(given: Any) -> Replicas | None:
    """Checks the argument ``replicas=``."""
    if given is None or isinstance(given, Replicas):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Replicas(items=(_text(given),))
    if isinstance(given, Mapping):
        if _is_record(given):
            return Replicas(documents=(_json(given),))
        return Replicas(rules=tuple((str(name), _values(values)) for name, values in given.items()))
    if callable(given):
        return Replicas(function=given)
    if not isinstance(given, Iterable):
        raise ArgumentTypeError(f"replicas must be URLs, rules {{prefix: URLs}} or a function, not {given!r}")
    items, records = [], []
    for one in given:
        if isinstance(one, Mapping):
            records.append(one)
        else:
            items.append(_text(one))
    return Replicas(items=tuple(items), documents=(_json(records),) if records else ())


def check_sources(sources: int) -> int:
    """Checks a number of sources, at least one."""
    if isinstance(sources, bool) or not isinstance(sources, int):
        raise ArgumentTypeError(f"'sources' must be a whole number, not {sources!r}")
    if sources < 1:
        raise UsageError(f"'sources' must be at least 1, not {sources}")
    return sources


def check_probe_interval(seconds: float) -> float:
    """Checks the seconds until a further replica is probed; 0 stands for never."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise ArgumentTypeError(f"'probe_interval' must be a number of seconds, not {seconds!r}")
    if not 0 <= seconds < math.inf:
        raise UsageError(f"'probe_interval' must be a number of seconds, or 0 for never, not {seconds!r}")
    return float(seconds)


def is_document(url: str) -> bool:
    """Whether a URL names a metalink, or a list of replicas as JSON."""
    return _DOCUMENT.fullmatch(url) is not None


def _text(url: Any) -> str:
    if isinstance(url, (str, os.PathLike)):
        text = os.fspath(url)
        if isinstance(text, str) and text:
            return text if _URL.match(text) else os.path.expanduser(text)
    raise ArgumentTypeError(f"a replica must be a URL, not {url!r}")


def _values(values: Any) -> tuple[str, ...]:
    several = [values] if isinstance(values, (str, os.PathLike)) else values
    if not isinstance(several, Iterable):
        raise ArgumentTypeError(f"a rule for replicas must give URLs, not {values!r}")
    return tuple(_text(value) for value in several)


def _is_record(given: Any) -> bool:
    return isinstance(given, Mapping) and ("pfns" in given or "rses" in given)


def _json(records: Any) -> str:
    if isinstance(records, list) and not all(map(_is_record, records)):
        raise UsageError("a dict among replicas must be a record of Rucio, with 'pfns' or 'rses'")
    return json.dumps(records, default=str)


def _begins(name: str, prefix: str) -> bool:
    if not name.startswith(prefix):
        return False
    return prefix.endswith("/") or name[len(prefix) :][:1] in ("", "/")


def _joined(item: str, name: str) -> str:
    """The URL of a file below a prefix; any other URL unchanged."""
    if not item.endswith("/"):
        return item
    match = _URL.match(name)
    path = (name if match is None else match["path"]).lstrip("/")
    prefix = _URL.fullmatch(item)
    if prefix is not None and _XROOTD.fullmatch(prefix["scheme"]) and prefix["path"] == "/":
        # XRootD separates the server from an absolute path by two slashes.
        return f"{item}/{path}"
    return item + path


def _hides(document: str) -> bool:
    """Whether URLs in records of Rucio contain secrets, such as signatures."""
    records = json.loads(document)
    for record in records if isinstance(records, list) else [records]:
        urls = [
            *(record.get("pfns") or ()),
            *(url for one in (record.get("rses") or {}).values() for url in one),
        ]
        if any(_core.redact(url) != url for url in urls):
            return True
    return False
