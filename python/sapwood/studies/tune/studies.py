"""Two published studies of layouts by experiments, as sweeps, and a check whether their findings hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .points import ALL, SPLIT_LEVELS, Point, Sweep, Workload, analysis_of, chosen_names
from .results import Measured

if TYPE_CHECKING:
    from .tuning import Tuning

SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.002)
SMALL_CACHE, LARGE_CACHE = (replace(ALL, cache=memory) for memory in ("30 MB", "300 MB"))

Holds: TypeAlias = Literal["yes", "differently", "no"]
"""Whether a finding holds: as it was, in its direction but to another extent or in part, or not at all."""


@dataclass(frozen=True)
class Finding:
    """A finding of a study, the same measured now, and whether it holds.

    Attributes:
        then: the finding of the study.
        now: the present measurement.
        holds: whether the finding holds.
        why: the reason.
    """

    then: str
    now: str
    holds: Holds
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Study:
    """The plan of a study.

    Attributes:
        name: for the command line.
        title: for the report.
        base: the layout that all others are compared with.
        entries: entries of the sample.
        sweeps: the sweeps, for given names of variants.
        findings: the findings, for the results of a run.
    """

    name: str
    title: str
    base: Point
    entries: int
    sweeps: Callable[[Iterable[str]], list[Sweep]]
    findings: Callable[[Tuning], list[Finding]]


CMS = Point("lzma:4", basket_size=16384, cluster_bytes=20_000_000)
CMS_BASKETS = tuple(1 << bits for bits in range(14, 21))
CMS_COMPRESSIONS = (
    *(f"zlib:{level}" for level in (1, 4, 7, 9)),
    *(f"lzma:{level}" for level in (1, 4, 7, 9)),
)

ATLAS = Point("zlib:5", basket_size=32_000, cluster_entries=100)
ATLAS_COMPRESSIONS = (
    *(f"zlib:{level}" for level in (1, 3, 5, 7, 9)),
    *(f"lzma:{level}" for level in (1, 2, 3, 5)),
    *(f"lz4:{level}" for level in (1, 3, 5, 7, 9)),
)
ATLAS_OTHERS = ("lz4:5", "lzma:5")
"""Other algorithms for which skipping and cluster sizes are measured."""
ATLAS_BASKETS = (16_000, 32_000, 64_000)
ATLAS_CLUSTERS = (10, 30, 100, 300, 1000)
ATLAS_SMALLER = 2000
"""Entries for the compression sweep, because LZMA writes only a few MB per second."""


def _cms_sweeps(variants: Iterable[str]) -> list[Sweep]:
    return [
        Sweep("as it is", (CMS,), (ALL,)),
        Sweep("compression", tuple(replace(CMS, compression=one) for one in CMS_COMPRESSIONS), (ALL,)),
        Sweep("basket size", tuple(replace(CMS, basket_size=one) for one in CMS_BASKETS), (ALL,)),
        Sweep("split", (CMS, *(replace(CMS, variant=name) for name in variants)), (ALL,)),
        Sweep(
            "split level", tuple(replace(CMS, split=level) for level in SPLIT_LEVELS), (ALL, analysis_of(()))
        ),
    ]


def _atlas_sweeps(variants: Iterable[str]) -> list[Sweep]:
    events = tuple(Workload(events=share) for share in SHARES)
    branches = tuple(Workload(branches=share) for share in SHARES)
    caches = (ALL, SMALL_CACHE, LARGE_CACHE)
    small = replace(ATLAS, entries=ATLAS_SMALLER)
    clusters = tuple(replace(ATLAS, cluster_entries=count) for count in ATLAS_CLUSTERS)
    others = tuple(replace(small, compression=name) for name in ATLAS_OTHERS)
    flushed = (replace(one, cluster_entries=count) for one in others for count in ATLAS_CLUSTERS)
    return [
        Sweep("as it is", (ATLAS,), (*caches, *events, *branches)),
        Sweep("cluster size", clusters, caches),
        Sweep("event skipping", clusters[::2], events),
        Sweep("compression", tuple(replace(small, compression=one) for one in ATLAS_COMPRESSIONS), (ALL,)),
        Sweep("algorithm and skipping", others, (*events, *branches)),
        Sweep("algorithm and cluster size", tuple(flushed), (ALL,)),
        Sweep("basket size", tuple(replace(ATLAS, basket_size=one) for one in ATLAS_BASKETS), (ALL,)),
        Sweep("split", (ATLAS, *(replace(ATLAS, variant=name) for name in variants)), (ALL,)),
        Sweep(
            "split level",
            tuple(replace(ATLAS, split=level) for level in SPLIT_LEVELS),
            (ALL, analysis_of(())),
        ),
    ]


def _cms_findings(found: Tuning) -> list[Finding]:
    checks = [_cms_baskets, _cms_memory, _lzma_reading, _levels_reading, _levels_writing]
    return _findings(checks, found, ALL)


def _atlas_findings(found: Tuning) -> list[Finding]:
    return _findings([_lzma_size, _not_limited, _skipping_pays, _branches_pay, _cache], found, ALL)


def _findings(
    checks: Iterable[Callable[[Tuning, Workload], Finding | None]], found: Tuning, workload: Workload
) -> list[Finding]:
    findings = (check(found, workload) for check in checks)
    return [one for one in findings if one is not None]


def _by(found: Tuning, sweep: str, name: str) -> dict[Any, Measured]:
    """The layouts of a sweep by the parameter in which they differ."""
    return {getattr(one.point, name): one for one in found.sweep(sweep)}


def _cpu(one: Measured, workload: Workload) -> float:
    """CPU seconds: the minimum of all measurements, because other load on the machine only adds."""
    used = one.read("cpu_seconds", workload)
    return used.least if used else float("nan")


def _baskets(one: Measured, workload: Workload) -> float:
    """The number of decompressed baskets with a workload that was measured."""
    number = one.read("baskets", workload)
    return number.median if number else float("nan")


def _holds(as_it_was: bool, in_part: bool = False) -> Holds:
    if as_it_was:
        return "yes"
    return "differently" if in_part else "no"


def percent(new: float, old: float) -> str:
    """A relative change.

    >>> percent(0.92, 1), percent(3, 2)
    ('-8.0 %', '+50.0 %')
    """
    return f"{100 * (new / old - 1):+.1f} %"


def _small_and_large(found: Tuning) -> tuple[Measured, Measured] | None:
    """The layouts with baskets of 16 KiB and 256 KiB."""
    by_size = _by(found, "basket size", "basket_size")
    small, large = by_size.get(1 << 14), by_size.get(1 << 18)
    return None if small is None or large is None else (small, large)


def _cms_baskets(found: Tuning, workload: Workload) -> Finding | None:
    if (pair := _small_and_large(found)) is None:
        return None
    small, large = pair
    size, time = large.size / small.size, _cpu(large, workload) / _cpu(small, workload)
    return Finding(
        "baskets of 262144 bytes instead of 16384: size -8 %, reading time -9 %",
        f"size {percent(size, 1)}, CPU time of reading {percent(time, 1)}",
        _holds(size < 0.96 and time < 0.96, size < 0.96 or time < 0.96),
        "the compressor finds more repetitions in larger baskets, and there are fewer of them: "
        f"{large.write('baskets').median:,.0f} instead of {small.write('baskets').median:,.0f}",
    )


def _cms_memory(found: Tuning, workload: Workload) -> Finding | None:
    if (pair := _small_and_large(found)) is None:
        return None
    memory = [one.read("peak_bytes", workload) for one in pair]
    reader = [each.median / 1e6 for each in memory if each]
    writer = [one.write("peak_bytes").median / 1e6 for one in pair]
    grows = [large > 1.2 * small for small, large in (reader, writer)]
    return Finding(
        "memory hardly grows with basket size",
        f"reader {reader[0]:.0f} → {reader[1]:.0f} MB, writer {writer[0]:.0f} → {writer[1]:.0f} MB",
        _holds(not any(grows), not all(grows)),
        "readers hold whole clusters, whatever the basket size; writers hold the baskets being filled",
    )


def _lzma_reading(found: Tuning, workload: Workload) -> Finding | None:
    by_name = _by(found, "compression", "compression")
    pairs = [(by_name.get(f"lzma:{level}"), by_name.get(f"zlib:{level}")) for level in (1, 4, 7, 9)]
    ratios = [_cpu(lzma, workload) / _cpu(zlib, workload) for lzma, zlib in pairs if lzma and zlib]
    if not ratios:
        return None
    return Finding(
        "LZMA reads up to 40 % slower than ZLIB",
        f"LZMA takes {min(ratios):.1f} to {max(ratios):.1f} times as long",
        _holds(1.0 < max(ratios) < 1.6, min(ratios) > 1.0),
        "then, constructing objects took most of the time and hid the difference; now, values go from the "
        "decompressor straight into arrays",
    )


def _level_ratios(found: Tuning, seconds: Callable[[Measured], float]) -> dict[str, float]:
    """The time at the slowest level relative to the fastest one, by algorithm."""
    ratios = {}
    for name in ("zlib", "lzma"):
        times = [seconds(one) for one in found.sweep("compression") if one.point.algorithm == name]
        if len(times) > 1:
            ratios[name] = max(times) / min(times)
    return ratios


def _levels_reading(found: Tuning, workload: Workload) -> Finding | None:
    ratios = _level_ratios(found, lambda one: _cpu(one, workload))
    if not ratios:
        return None
    texts = (f"{name} {100 * (ratio - 1):.0f} %" for name, ratio in ratios.items())
    return Finding(
        "the level hardly matters for reading",
        f"from the fastest to the slowest level: {', '.join(texts)}",
        _holds(max(ratios.values()) < 1.15, min(ratios.values()) < 1.15),
        "the decompressed data is the same; at higher levels it comes from fewer bytes",
    )


def _levels_writing(found: Tuning, _: Workload) -> Finding | None:
    ratios = _level_ratios(found, lambda one: one.write("cpu_seconds").least)
    if "lzma" not in ratios:
        return None
    return Finding(
        "the level matters much for writing LZMA, and little for writing ZLIB",
        ", ".join(
            f"{name}: the slowest level takes {ratio:.1f} times as long" for name, ratio in ratios.items()
        ),
        _holds(ratios["lzma"] > 1.5 > ratios.get("zlib", 1.0), ratios["lzma"] > 1.5),
        "higher levels search longer for repetitions",
    )


def _lzma_size(found: Tuning, _: Workload) -> Finding | None:
    by_name = _by(found, "compression", "compression")
    lzma, zlib = by_name.get("lzma:1"), by_name.get("zlib:5")
    if lzma is None or zlib is None:
        return None
    size = lzma.size / zlib.size
    return Finding(
        "LZMA-1 is about 10 % smaller than ZLIB-5",
        f"size {percent(size, 1)}",
        _holds(0.85 < size < 0.95, size < 1.0),
        "the difference depends on the values: random ones compress no better",
    )


def _not_limited(found: Tuning, workload: Workload) -> Finding | None:
    times = {}
    for one in found.sweep("compression"):
        times[one.point.compression] = 1000 * _cpu(one, workload) / one.writes[0]["entries"]
    if not times:
        return None
    fast, slow = min(times, key=lambda name: times[name]), max(times, key=lambda name: times[name])
    return Finding(
        "reconstruction is not limited by input and output",
        f"reading a whole event takes {times[fast]:.2f} ms ({fast}) to {times[slow]:.2f} ms ({slow})",
        _holds(times[slow] < 100),
        "reconstruction takes seconds per event; for an analysis that takes a millisecond per event, the "
        "same reading times matter",
    )


def _skipping_pays(found: Tuning, workload: Workload) -> Finding | None:
    """Judged by the number of decompressed baskets, which is the same on every machine."""
    texts, holds = [], []
    for one in found.sweep("event skipping"):
        base = _baskets(one, workload)
        curve = {w.events: _baskets(one, w) / base for w in one.reads if w.events < 1 and w.branches == 1}
        pays = [share for share, read in curve.items() if read < 0.75]
        if curve:
            limit = max(pays, default=0.0)
            texts.append(
                f"clusters of {one.cluster_entries:,.0f}: below {limit:.1%}"
                if pays
                else f"clusters of {one.cluster_entries:,.0f}: nowhere above {min(curve):.1%}"
            )
            holds.append(limit <= 3 / one.cluster_entries)
    if not texts:
        return None
    return Finding(
        "skipping events pays only where less than one event of a cluster is read",
        f"a quarter of the baskets is skipped with {'; '.join(texts)}",
        _holds(all(holds), any(holds)),
        "baskets are decompressed whole, and even a small random share of the events touches most of them; "
        "if baskets have fewer events than the cluster, the limit is higher",
    )


def _branches_pay(found: Tuning, workload: Workload) -> Finding | None:
    today = found.today
    base = _cpu(today, workload)
    curve = {w.branches: _cpu(today, w) / base for w in today.reads if w.branches < 1 and w.events == 1}
    if not curve:
        return None
    return Finding(
        "skipping branches pays in proportion",
        ", ".join(
            f"{share:.0%} of the branches: {time:.0%} of the time"
            for share, time in sorted(curve.items())
            if share in (0.5, 0.1, 0.01)
        ),
        _holds(all(time < 2 * share + 0.1 for share, time in curve.items())),
        "each branch has its own baskets; only the cost of opening the file remains",
    )


def _cache(found: Tuning, _: Workload) -> Finding | None:
    changes, again = {}, {}
    for one in found.sweep("cluster size"):
        if one.read("seconds", SMALL_CACHE):
            clusters = f"clusters of {one.point.cluster_entries:,}"
            changes[clusters] = _cpu(one, SMALL_CACHE) / _cpu(one, LARGE_CACHE)
            again[clusters] = _baskets(one, SMALL_CACHE) / _baskets(one, LARGE_CACHE)
    if not changes:
        return None
    slower = [ratio > 1.1 for ratio in changes.values()]
    texts = (f"{percent(ratio, 1)} ({clusters})" for clusters, ratio in changes.items())
    twice = [f"{percent(ratio, 1)} ({clusters})" for clusters, ratio in again.items() if ratio > 1.01]
    return Finding(
        "a cache of 30 MB holds the data of one read",
        f"CPU time of an event loop with 30 MB instead of 300 MB: {', '.join(texts)}",
        _holds(not any(slower), not all(slower)),
        f"windows that end inside clusters decompress more baskets: {', '.join(twice)}; the rest is the work "
        "of each further window"
        if twice
        else "no basket is decompressed twice; this is the work of each further window",
    )


STUDIES = (
    Study("cms2015", "CMS 2015: compression and baskets of MiniAOD", CMS, 1500, _cms_sweeps, _cms_findings),
    Study(
        "atlas2018",
        "ATLAS 2018: compression, flushing and skipping of xAOD",
        ATLAS,
        20_000,
        _atlas_sweeps,
        _atlas_findings,
    ),
)
"""All studies."""


def study_named(name: str) -> Study:
    """A study by its name."""
    known = {one.name: one for one in STUDIES}
    return known[chosen_names("study", [name], known)[0]]
