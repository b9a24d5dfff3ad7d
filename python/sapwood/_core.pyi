"""The compiled core: bytes, time, threads and formats. Everything here is wrapped by `sapwood`."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__version__: str
smallest_block: int  # bytes; smaller blocks are refused
error_codes: list[str]  # of all kinds of errors
compression_algorithms: list[tuple[str, int, int]]  # name in settings, hundreds of ROOT's number, usual level

FileInput: TypeAlias = "File | tuple[str, OpenOptions]"
"""An open file, or the URL and the options of one that is opened when it is needed."""

QueryArgument: TypeAlias = "int | tuple[int, str]"
"""The index of a branch, or that of a branch and the path of a member of its objects."""

@final
class StorageOptions:
    """How to reach object stores. What is None is found in the environment."""

    def __new__(
        cls,
        *,
        endpoint: str | None = None,  # URL of the service; default: the environment's, else the provider's
        region: str | None = None,
        anonymous: bool = False,  # send no credentials
        profile: str | None = None,  # of AWS
        path_style: bool
        | None = None,  # URLs have the bucket in their path; default: for an explicit endpoint
        account: str | None = None,  # of Azure
        access_key_id: str | None = None,
        secret_access_key: str | None = None,
        session_token: str | None = None,
    ) -> StorageOptions: ...

@final
class RetryPolicy:
    """How to repeat requests that fail for a reason that may pass; see `sapwood.RetryPolicy`."""

    def __new__(
        cls,
        *,
        tries: int | None = None,
        backoff: float | None = None,  # seconds
        longest_pause: float | None = None,  # seconds
        budget: float | None = None,  # seconds
    ) -> RetryPolicy: ...

@final
class BlockOptions:
    """How to download files lazily, in blocks that are kept on the local disk."""

    def __new__(
        cls,
        *,
        block_size: int | None = None,  # bytes; default: 16 MiB
        scratch_size: int | None = None,  # most bytes of the temporary file; default: 4 GiB
        cache: str | None = None,  # directory; default: a temporary file instead
        cache_size: int | None = None,  # most bytes in it; default: 20 GB
        cache_max_age: float | None = None,  # seconds a version counts as current; default: 0
    ) -> BlockOptions: ...

@final
class OpenOptions:
    """How to open files. It has no attributes, so that secrets in it are never shown."""

    def __new__(
        cls,
        *,
        headers: Sequence[tuple[str, str]] = (),  # of HTTP requests
        storage: StorageOptions | None = None,
        storage_rules: Sequence[tuple[str, StorageOptions]] = (),  # by URL prefix; the longest one applies
        read_timeout: float | None = None,  # seconds; default: 30
        retry: RetryPolicy | None = None,
        replicas: Sequence[str] = (),  # paths, URLs, and those of documents; the best first
        documents: Sequence[str] = (),  # contents of metalinks and of replica lists
        sources: int | None = None,  # most replicas that are read at once; default: 2
        probe_interval: float | None = None,  # seconds; 0 for never; default: 5
        lazy_download: BlockOptions | None = None,  # default: not at all
        column_cache: tuple[str, int | None] | None = None,  # directory and size; default: none
        drop_pages: bool = False,  # of local files, from the memory of the system, once they are read
    ) -> OpenOptions: ...

@final
class WriteOptions:
    """How to write a dataset."""

    def __new__(
        cls,
        *,
        compression: int | None = None,  # algorithm * 100 + level; default: 505
        stripe_size: int | None = None,  # bytes of objects; default: 1 MiB
        batch: int | None = None,  # entries
        group: bool = True,  # small products share objects
        pad: int = 0,  # pad objects to multiples of this many bytes
        statistics: bool = True,  # store value ranges of stripes
        threads: int | None = None,
        who: str | None = None,
        job: tuple[str, int] | None = None,  # name and attempt
        parameters: dict[str, str] = {},
        base: str | None = None,  # URL of the location of new objects
        branches: Sequence[str] | None = None,  # paths; default: all
        entries: Sequence[Sequence[tuple[int, int]]] | None = None,  # ranges for each input; default: all
    ) -> WriteOptions: ...

@final
class ChainOptions:
    """What a processing chain does, and in which layout it writes."""

    def __new__(
        cls,
        *,
        full: bool,  # also serialize, compress and write
        lanes: int,  # batches in progress at the same time
        batch: int,  # entries
        threads: int | None = None,
        entries: int | None = None,  # most entries; default: all
        compression: int | None = None,
        stripe_size: int | None = None,
        group: bool = True,
    ) -> ChainOptions: ...

def list_directory(
    url: str, *, deadline: float | None = None, options: OpenOptions | None = None
) -> list[tuple[str, bool]]:
    """Name, and whether it is a directory, of all entries of the directory at a URL, sorted."""

def cache_contents(directory: str) -> list[tuple[str, int, int, int, int, float | None]]:
    """The files in a cache: URL, size, blocks, columns, bytes on disk, last use in seconds since 1970."""

def cache_verify(directory: str) -> tuple[int, int, list[str]]:
    """Read all files of a cache: number and bytes of sound ones, paths of damaged ones (removed)."""

def cache_clear(directory: str, url: str | None = None) -> int:
    """Remove what is kept of one file, or of all, from a cache; returns the freed bytes."""

def diagnose(
    url: str, *, longest: float, deadline: float | None = None, options: OpenOptions | None = None
) -> list[dict[str, Any]]:
    """The steps of reading a file, each with name, outcome, seconds, detail, facts and error."""

def verify(
    url: str,
    *,
    trees: Sequence[str] | None = None,
    threads: int | None = None,
    longest: float | None = None,
    most_findings: int = 1000,
    progress: Callable[[int, int, int], None] | None = None,
    options: OpenOptions | None = None,
) -> dict[str, Any]:
    """The report of verifying a file, or some of its trees; ``longest``: seconds that a step may take."""

def trace_start(path: str, program: str) -> None:
    """Append a recording of the reads of this process to a file."""

def trace_stop() -> None:
    """Write what was recorded, and stop recording."""

def trace_flush() -> None:
    """Write what was recorded so far."""

def trace_is_on() -> bool:
    """True if this process records."""

def trace_summary(path: str) -> str:
    """The summary of a recording, as JSON."""

def replay_job(
    path: str,
    policy: str,
    links: dict[str, tuple[float, int, float, int | None]] | None,
    urls: dict[str, str],
    replicas: list[tuple[float, int, float, int | None]],
    *,
    deadline: float | None = None,
    options: OpenOptions | None = None,
) -> str:
    """The cost of a job under a policy, as JSON: over links (round trip in seconds, bytes per second, seconds
    for each request, concurrent requests) by server, "" for the others, with further replicas of each file;
    without links, from these URLs, reached with these options."""

@final
class CoreError(Exception):
    """Raised by the core for every failure; `sapwood` turns it into the public exceptions.

    args = (kind code, full message, url | None, offset | None, branch | None, hint | None,
    event log: see `File.event_log`)
    """

def beside(origin: str, name: str) -> str:
    """The location of a file that the one at ``origin`` refers to by ``name``."""

def describe_dataset(
    url: str,
    version: str | None,
    sizes: bool,
    deadline: float | None,
    options: OpenOptions | None,
    log: object = None,
) -> str:
    """The contents of a version of a dataset, as JSON."""

def dataset_log(
    url: str, after: int, deadline: float | None, options: OpenOptions | None, log: object = None
) -> str:
    """The entries of the log of a dataset after a number, as JSON."""

class Stripes:
    """A dataset, to write and check. Versions are ``v12``, ``latest``, or a tag."""

    url: str
    def __init__(
        self,
        url: str,
        deadline: float | None = None,
        options: OpenOptions | None = None,
        log: object = None,
    ) -> None: ...
    def version(self, version: str) -> int: ...
    def identity(self, tree: str | None = None) -> str | None: ...
    def add_base(self, url: str, who: str | None) -> int: ...
    def create(self, tree: str, inputs: Sequence[FileInput], options: WriteOptions) -> dict[str, Any]: ...
    def append(self, inputs: Sequence[FileInput], options: WriteOptions) -> dict[str, Any]: ...
    def write_receipt(
        self, inputs: Sequence[FileInput], options: WriteOptions
    ) -> tuple[dict[str, Any], str]: ...
    def commit_receipts(self, receipts: list[str], options: WriteOptions) -> dict[str, Any]: ...
    def consolidate(
        self, products: list[str] | None, dry_run: bool, options: WriteOptions
    ) -> dict[str, Any]: ...
    def add(
        self,
        source: FileInput,
        tree: str,
        products: list[str] | None,
        by_position: bool,
        options: WriteOptions,
    ) -> dict[str, Any]: ...
    def drop(self, products: list[str], who: str | None) -> int: ...
    def restore(self, version: int, who: str | None) -> int: ...
    def tag(self, name: str, version: str) -> int: ...
    def untag(self, name: str) -> None: ...
    def tags(self) -> list[tuple[str, int]]: ...
    def expire(self, newest: int | None, within: float | None, dry_run: bool) -> int: ...
    def gc(self, grace: float | None, dry_run: bool, alone: bool) -> tuple[list[str], int, int]: ...
    def verify(
        self, version: str, fraction: float, seed: int
    ) -> tuple[int, int, int, list[tuple[str, str | None, tuple[int, int], str]]]: ...
    def copy(self, other: Stripes) -> tuple[int, int, int]: ...
    def select(self, version: str, mask: str) -> list[tuple[int, int]]: ...
    def find(self, version: str, events: list[tuple[int, int, int]]) -> list[list[int]]: ...

def check_log(log: object, seconds: float) -> None:
    """Fill an empty log (``url``, ``newest``, ``read``, ``create``), and check that it keeps its contract."""

def is_on_network(path: str) -> bool:
    """Whether a local path lies on a file system of another machine; it is not touched."""

def redact(url: str) -> str:
    """A URL without user name, password, query values and fragment."""

class Key:
    """One key of a directory."""

    name: str
    cycle: int
    class_name: str
    title: str
    path: str  # from the file down, joined with "/", without the cycle
    offset: int  # byte offset of the record
    nbytes: int  # bytes of the record on file
    object_bytes: int  # uncompressed bytes of the object
    datime: int  # ROOT's packed date and time
    is_directory: bool

class File:
    """An open ROOT file. Thread-safe."""

    @staticmethod
    def open(
        url: str,
        *,
        deadline: float | None = None,
        options: OpenOptions | None = None,
        log: object = None,
    ) -> File:
        """Open a path or URL; that of a dataset, if its log is given."""
    @staticmethod
    def open_object(obj: Any, name: str, *, deadline: float | None = None) -> File:
        """Open a Python object that has `read` and `seek`, or that is bytes."""
    def raw(self) -> RawFile:
        """The bytes of the file, over the same connection; they stay available after `close`."""
    url: str  # without secrets
    size: int
    uuid: str  # canonical text
    dataset_tree: str | None  # the path of the tree, if it is a dataset
    root_version: int  # 62808 = 6.28/08; 0 .. if unknown
    compression: int  # algorithm * 100 + level
    def keys(self, recursive: bool = True, deadline: float | None = None) -> list[Key]:
        """All keys, highest cycle first within a name, in file order otherwise."""
    def item(
        self, path: str, cycle: int | None = None, deadline: float | None = None
    ) -> tuple[Tree | Object, int]:
        """The tree or the object at a path, and its cycle."""
    def likely_tree(self, name: str) -> Tree | None:
        """The tree of that name at the end of the file, while the keys are still in flight; else None."""
    def streamers(self, deadline: float | None = None) -> list[dict[str, Any]]:
        """[{name, version, checksum, elements: [{name, title, class, type, type_name, array_dims}]}]."""
    def counters(self) -> dict[str, int]:
        """By name: requests, ranges, round_trips, wanted_bytes, fetched_bytes, overread_bytes,
        duplicated_bytes, probe_bytes, block_bytes, unplanned_reads, skipped_bytes, excluded_entries,
        excluded_clusters, baskets, decompressed_bytes, wait_ns, decompress_ns, decode_ns."""
    def column_costs(self) -> list[tuple[str, str, dict[str, int]]]:
        """The cost of each column that was read: (table, column, by name: baskets, wanted_bytes,
        fetched_bytes, decompressed_bytes, decompress_ns, decode_ns). Like `counters`, also after closing."""
    def trace(self) -> list[tuple[float, float, int, int, int, str | None]]:
        """Every range fetched so far: (seconds of request and answer since opening began, offset, bytes,
        number of the request, server as host:port). Like `counters`, also after closing."""
    def uses(self) -> list[tuple[str | None, tuple[int, ...], tuple[int, ...], float]]:
        """The traffic of each server: (server, requests for one range, those for several, busy seconds),
        where requests are (number, bytes, squares of bytes, ranges, squares of ranges)."""
    def messages(self) -> list[tuple[str | None, int, int]]:
        """The requests to each server and the ranges in them: (server, requests, ranges)."""
    def event_log(self) -> tuple[list[tuple[float, str | None, str, str, int]], int]:
        """The events at the sources: (seconds since opening began, server, event, message, repetitions); and
        how many events were dropped. Like `counters`, also after closing."""
    def close(self) -> None: ...

@final
class RawFile:
    """An open file of any format. Thread-safe."""

    @staticmethod
    def open(url: str, *, deadline: float | None = None, options: OpenOptions | None = None) -> RawFile: ...
    url: str  # without secrets
    size: int
    def read(self, ranges: Sequence[tuple[int, int]], *, deadline: float | None = None) -> list[bytes]:
        """The bytes of ranges (offset, bytes), fetched together, in as few requests as the server allows."""
    def counters(self) -> dict[str, int]:
        """See `File.counters`; available after closing, too."""
    def close(self) -> None: ...

class Object:
    """An object of a file. Plain data."""

    class_name: str
    column: Column  # of one item
    skipped: list[tuple[str, str]]  # (path, reason) of members that are not in the column

class Branch:
    """The description of a branch. Plain data."""

    index: int  # position in Tree.branches
    name: str  # TBranch::fName
    path: str  # names from the tree down, joined with "/"
    title: str
    class_name: str  # TBranch, TBranchElement, ...
    parent: int | None
    children: list[int]
    num_entries: int
    typename: str  # C++ type in the spelling of uproot: "float", "int32_t[]", "std::vector<float>", ...
    form: Any | None  # see Column.form; None if it cannot be read
    unsupported: str | None  # the reason why it cannot be read
    skipped: list[tuple[str, str]]  # (path, reason) of members that cannot be read
    is_group: bool  # has no data of its own (a split object's node)
    item_class: str | None  # of a split collection, whose sub-branches are the members of its items
    count_branch: int | None  # index of the branch that holds the lengths, if any
    compressed_bytes: int
    uncompressed_bytes: int
    compression: int  # algorithm * 100 + level, the file's if the branch has none
    num_baskets: int
    member: str  # path of the member that this is; empty for the whole branch
    def member_at(self, path: str) -> Branch:
        """The member at a path with dots from here; it has its own form, typename and skipped."""
    def baskets(self) -> list[tuple[int, int, int, int, bool]]:
        """(first entry, entries, byte offset, bytes on file, embedded in the tree's record)."""

class Tree:
    """A tree of an open file. Thread-safe."""

    name: str
    title: str
    class_name: str
    num_entries: int
    branches: list[Branch]  # depth first
    aliases: dict[str, str]
    friends: list[tuple[str, str, str]]  # (name, file as its writer named it or "" for this file, path in it)
    cluster_starts: list[int]  # first entry of each cluster, then num_entries
    compressed_bytes: int
    uncompressed_bytes: int
    def shared_sizes(self, fields: list[int]) -> tuple[int, int, int] | None:
        """Stored bytes, uncompressed bytes and number of the pages of fields, each once; None for a TTree."""
    is_distant: bool  # reading waits for a server
    attribute_sets: list[str]
    def branch_at_path(self, path: str) -> Branch | None:
        """The branch at a path from the top. Looks at one after the other."""
    def schema_text(self) -> str:
        """Path and type of every branch, separated by a tab, a line each, in the order of the lines."""
    def attribute_set(self, name: str, deadline: float | None = None) -> Tree:
        """An attribute set of an RNTuple."""
    def find_baskets(self, branches: list[int], deadline: float | None = None) -> None:
        """Locate the baskets of branches of a dataset, in one round trip. For files, nothing to do."""
    def known_values(
        self, branch: int, deadline: float | None = None
    ) -> tuple[str | None, list[NDArray[np.uint64]]]:
        """Statistics of a branch of a dataset, a row for each stripe; no rows for a file.

        Their dtype, "i8", "u8" or "f8" (None if there are none), and columns: first entries, ends, number of
        values (2**64 - 1: unknown), how many of them are NaN, bits of the minimum and the maximum.
        """
    def product(self, branch: int) -> str | None:
        """The product of a dataset that a branch belongs to."""
    def count_excluded(self, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """The number of entries, and of whole clusters, in some ranges (in order)."""
    def settled(self, deadline: float | None = None) -> Tree | None:
        """The tree that the keys name, if this one was only likely and is another; else None."""
    def read(
        self,
        queries: Sequence[QueryArgument],
        entry_start: int,
        entry_stop: int,
        *,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> list[Column]:
        """The entries [entry_start, entry_stop) of some queries.

        Members of one branch are read together. Releases the GIL, obeys Ctrl-C.
        """
    def scan(
        self,
        queries: Sequence[QueryArgument],
        entry_ranges: Sequence[tuple[int, int]],
        *,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Scan:
        """An iterator over the ranges, in order; it reads the next range in the background."""
    def start_entries(
        self,
        queries: Sequence[QueryArgument],
        entries: NDArray[np.uint64],
        within: tuple[int, int],
        *,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Entries:
        """Begin to read some entries, in the order given; only baskets with one of them are fetched.

        Skipped baskets of ``within`` count as skipped_bytes.
        """
    def lazy(
        self,
        queries: Sequence[QueryArgument],
        *,
        entry_start: int | None = None,
        entry_stop: int | None = None,
        trained: Sequence[tuple[int, float]] | None = None,
        startup: bool = True,
        learn: bool = True,
        trigger: bool = True,
        startup_bytes: int | None = None,
        startup_entries: int | None = None,
        memory_bytes: int | None = None,
        threads: int | None = None,
        deadline: float | None = None,
    ) -> Lazy:
        """A reader that fetches what is touched, and learns to prefetch.

        trained: (index of the query, share of windows in which it was touched), from an earlier
        `Lazy.learned`; None if nothing is known. With `learn=False`, this set never changes, and is fetched
        for each window.
        Defaults: startup_bytes 16 MiB, startup_entries 1000, memory_bytes 256 MiB.
        """

class Entries:
    """A read of some entries that has begun; the bytes of a distant file are in flight."""

    def finish(self, deadline: float | None = None) -> list[Column]:
        """The columns; can be called once."""

@final
class CutRead:
    """A read of steps in two stages: what a cut needs, then the rest of the passing entries. Thread-safe.

    Where a second stage is not worth a round trip, the first delivers everything.
    """

    first: list[int]  # the queries that the first stage delivers, in its order
    second: list[int]  # the same of the second stage; empty if there is none
    def __new__(
        cls,
        trees: Sequence[Tree],  # the first has all entries; others may have fewer
        queries: Sequence[tuple[int, QueryArgument]],  # with the index of the tree
        cut: Sequence[int],  # the queries that the cut needs
        groups: Sequence[Sequence[int]],  # queries that may wait for the mask, together
        ranges: Sequence[tuple[int, int]],
        *,
        chosen: NDArray[np.uint64] | None = None,  # entries of the only range
        excluded: Sequence[tuple[int, int]] = (),  # in order: no entry can pass there
        least_bytes: int | None = None,  # of a second stage; default: 1 MiB
        many_percent: int | None = None,  # of entries that pass, from which on all are read; default: 5
        threads: int | None = None,
        deadline: float | None = None,
    ) -> CutRead:
        """Start to read; the deadline applies to each wait. Releases the GIL, obeys Ctrl-C."""
    def next(self) -> FirstStage | SecondStage | None:
        """The first stage of the next step, or the second of the earliest without it; None after the last.

        If there is a second stage, call `cut` after each first one; otherwise the first is the whole step.
        """
    def cut(self, mask: NDArray[np.bool_] | None) -> None:
        """Set the mask of the step whose first stage was delivered last; None if it drops no entry."""

@final
class FirstStage:
    entry_start: int
    entry_stop: int
    chosen: NDArray[np.uint64] | None  # the entries of the step that are read; None for all
    columns: list[Column]

@final
class SecondStage:
    columns: list[Column]
    passing: bool  # whether they hold the passing entries only

class Scan:
    def __iter__(self) -> Scan: ...
    def __next__(self) -> list[Column]: ...

@final
class Lazy:
    """Columns that are read when they are touched, window by window. Thread-safe.

    A column is named by the index of its query. A window is the entries fetched together: whole clusters.
    """

    def windows(self) -> list[tuple[int, int]]:
        """First entry and end of each window."""
    def column(self, query: int, window: int, *, deadline: float | None = None) -> Column:
        """The entries of a window. Fetches them if needed, with columns that are likely to be touched.

        The arrays share memory with the reader, and are read-only.
        """
    def touch(self, queries: Sequence[int], window: int, *, deadline: float | None = None) -> None:
        """Fetch a declared set of a window in one planned request, and decode it."""
    def release(self, window: int) -> None:
        """Mark a window as no longer needed. May be called at any time."""
    def expect(self, windows: Sequence[tuple[int, float]]) -> int:
        """Declare which windows will be opened, each once, in the order of their first opening, with the
        share of their entries that will be used: a small share prefetches little. Only these are
        prefetched until the returned number is passed to `forget`."""
    def forget(self, expected: int) -> None:
        """Withdraw a declaration. May be called at any time."""
    def learned(self) -> list[tuple[int, int, int]]:
        """(query, windows touched, windows seen) of all queries that were touched."""
    def accounting(self) -> dict[str, Any]:
        """Counts of touches and fetches so far.

        windows_seen: int
        held_bytes: int, kept in memory now, compressed and decoded
        columns: by query {windows_touched, hits, misses, bytes_fetched, bytes_unused}, without those never
            touched nor fetched; windows_touched = hits + misses
        kinds: by "startup", "trained", "trigger", "declared", "touched" {fetches, requests, ranges, bytes}
        """
    def fetches(self) -> list[dict[str, Any]]:
        """Every fetch, in order: kind, window, entry_start, entry_stop, columns (queries), ranges
        [(offset, bytes)], asked and answered (seconds since opening began, as in `File.trace`; answered is
        None while it is in flight, and if it failed)."""

class Column:
    """A column of data.

    form: nested tuples, depth first:
      ("primitive", "float32") | ("fixed", size, form) | ("list", form) | ("string",)
      | ("record", [(name, form), ...], class, [title, ...]) | ("tuple", [form, ...])
      | ("option", form) | ("union", [form, ...]) | ("empty",)
    buffers: in the order of the form, depth first: primitive 1 (its values, of that dtype), fixed 0, list 1
    (n + 1 int64 offsets that start at 0), string 2 (int64 offsets, uint8 bytes), option 1 (int64 positions in
    the content, -1 for none; the content holds the present items in order), union 2 (int8 tags, int64
    positions in the content of that tag; each content holds its items in order), record, tuple and empty 0 of
    their own. Arrays are contiguous, in native byte order, and share the memory of the core.
    """

    form: Any
    length: int
    buffers: list[NDArray[np.generic]]

def chain(
    source: int | tuple[File, str] | tuple[str, str],
    output: tuple[str, str],
    running: ChainOptions,
    *,
    deadline: float | None = None,
    options: OpenOptions | None = None,
) -> dict[str, Any]:
    """Run a processing chain; returns the fields of `sapwood.chain.ChainReport`.

    source: a number of events without columns, an open file and the path of its tree, or ("flat", url).
    output: none, sink, stripes, root or flat, and its location.
    """

def repack(
    inputs: Sequence[FileInput],
    target: Any,
    name: str,
    *,
    compression: int | None = None,
    basket_size: int | None = None,
    cluster: tuple[str, int] | None = None,
    trees: Sequence[str] | None = None,
    choices: Sequence[tuple[str, Sequence[str] | None, Sequence[Sequence[tuple[int, int]]] | None]] = (),
    intersection: bool = False,
    sets: Sequence[str] = (),
    format: str | None = None,
    split: int | None = None,
    threads: int | None = None,
    deadline: float | None = None,
    keep_every: float | None = None,
) -> dict[str, Any]:
    """Write the contents of some files to a new one, which ROOT shows as `name`.

    cluster: ("entries", number) or ("bytes", as stored in the inputs). choices: the path of a tree, the paths
    of its branches and, for each input that has it, ranges of its entries; None for all. sets: trees that are
    written once where inputs have the same. format: "rntuple" or "ttree", if not that of the inputs.
    keep_every: seconds between saved states, from which a later run can resume; 10 by default. Returns the
    fields of `sapwood.repacking.RepackReport`; times in nanoseconds.
    """

def split_branches(column: str, form: tuple[Any, ...], first: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Names and storage of the branches of a column of split objects; the index of the first is given.

    form: ("object", class, members) or, for vectors, ("objects", class, members), where a member is (name,
    storage). The branches of members are stored as ("member", index of the branch of the objects, numbers of
    the members that lead to it).
    """

@final
class Writer:
    """A file that is written; `commit` makes it appear. Thread-safe."""

    def __init__(
        self,
        target: Any,
        name: str,
        *,
        title: str = "",
        compression: int = 505,
        threads: int | None = None,
    ) -> None:
        """Write to a path or URL, or into an object with `write` and `seek`; ROOT shows it as `name`."""
    @staticmethod
    def update(target: str, *, compression: int = 505, threads: int | None = None) -> Writer:
        """Add to a local file."""
    def paths(self) -> list[tuple[str, str]]:
        """Paths and classes of the contents of the file, except trees that are being written."""
    def directory(self, path: str) -> None:
        """Make the directories of a path."""
    def tree(
        self,
        directory: str,
        name: str,
        title: str,
        branches: Sequence[tuple[str, str | None, tuple[Any, ...], int, int]],
        cluster: tuple[str, int],
    ) -> int:
        """Create a tree; returns its number.

        branches: (name, title, storage, ROOT's number of the compression, bytes of a basket), where storage
        is ("numbers", dtype, dims), ("counted", dtype, dims, index of the counter), ("text",), ("string",),
        ("vector", item), or from `split_branches`; an item is a dtype, ("string",) or ("vector", item).
        cluster: ("entries", number) or ("bytes", after compression).
        """
    def rntuple(
        self,
        directory: str,
        name: str,
        description: str,
        fields: Sequence[tuple[str, str, tuple[Any, ...], int]],
        *,
        compression: int,
        cluster: tuple[str, int],
        page_size: int,
        checksums: bool,
    ) -> int:
        """Create an RNTuple; returns its number.

        fields: (name, description, form, ROOT's number of the compression); see `arrays.column.Form`.
        compression: ROOT's number for the metadata. cluster: as for `tree`. page_size: bytes.
        """
    def add_fields(self, table: int, fields: Sequence[tuple[str, str, tuple[Any, ...], int]]) -> None:
        """Add fields to an RNTuple, as for `rntuple`; they are zero or empty in the entries so far."""
    def existing_tree(self, path: str) -> tuple[int, int, list[tuple[str, tuple[Any, ...]]]]:
        """A tree of the updated file: its number, its entries, name and storage of each branch."""
    def existing_entries(self, path: str) -> int:
        """The number of entries of a tree of the updated file, whatever its branches are."""
    def add_branches(
        self,
        path: str,
        branches: Sequence[tuple[str, str | None, Any, int, int]],
        entries: int,
        columns: Sequence[Sequence[NDArray[np.uint8]]],
    ) -> None:
        """Add branches to a tree of the updated file: as for `tree`, with columns as for `extend`."""
    def extend(self, table: int, entries: int, columns: Sequence[Sequence[NDArray[np.uint8]]]) -> None:
        """Add entries to a table: the buffers of a column for each branch or field, as bytes; see
        `arrays.column.Column`."""
    def object(self, directory: str, class_name: str, name: str, title: str, members: Any) -> None:
        """Write an object. A value is None, a number, a text, an array, a dict of members, or a list of
        (class, value)."""
    def commit(self) -> int:
        """Finish the file, and move it into place; returns the number of its bytes."""
    def abandon(self) -> None:
        """Leave the target unchanged."""
