"""Tables of the measurements of `remote.py`: seconds by latency, use of the link, and the requirements."""

from __future__ import annotations

from statistics import median
from typing import Any

from results import Check, required, table

Record = dict[str, Any]
Run = dict[str, Any]
Points = list[tuple[float, int]]

# The requirements.
MOST_ROUND_TRIPS = {"root": 6, "http": 4, "s3": 4}
DISTANT_MS, FARTHEST_MS = 22, 240
TIMES_FASTER = {"root": 1.8, "http": 1.6}
WALL, LINK_SHARE, ROUND_TRIPS_PER_FILE = 1.15, 0.9, 1.5
# Files after which a list is in the steady state.
SETTLED = 10
LAYOUTS = {"h1_old": "small interleaved baskets, as in 2007", "h1_new": "today's clusters and baskets"}


class Point:
    """The runs of one client at one latency."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.runs: list[Run] = record["runs"]
        self.client: str = record["client"]
        self.rtt_ms: float = record.get("rtt_ms", 0)

    def median(self, quantity: str) -> float | None:
        values = [float(run[quantity]) for run in self.runs if quantity in run]
        return median(values) if values else None

    @property
    def error(self) -> str | None:
        return next((run["error"] for run in self.runs if "error" in run), None)

    @property
    def seconds(self) -> float | None:
        """The median of complete and extrapolated runs, if no run failed or was stopped."""
        if self.error or any("stopped" in run for run in self.runs):
            return None
        return median([float(run["scaled" if "scaled" in run else "seconds"]) for run in self.runs])

    @property
    def at_least(self) -> float | None:
        """The seconds, or a lower bound if a run was stopped."""
        stopped = self.median("stopped")
        return stopped if stopped is not None and not self.error else self.seconds

    def text(self) -> str:
        """Seconds; `~` marks extrapolated ones, `>` those of a stopped run."""
        if self.error:
            return "fails"
        if (seconds := self.seconds) is None:
            return f"> {max(run.get('stopped', 0) for run in self.runs):.0f}"
        digits = 3 if seconds < 10 else 0
        return f"{'~ ' if any('scaled' in run for run in self.runs) else ''}{seconds:.{digits}f}"


def use_of_link(points: Points, megabits: float) -> Run:
    """The share of the link that was used, from one second after the first connection on."""
    arrived = [point for point in points if point[1] > points[0][1]]
    if not arrived or not megabits:
        return {}
    last = next(point for point in points if point[1] == points[-1][1])
    start = next((point for point in points if point[0] >= points[0][0] + 1), last)
    seconds = last[0] - start[0]
    if seconds <= 0:
        return {}
    share = (last[1] - start[1]) * 8 / 1e6 / seconds / megabits
    return {"link_share": share, "transfer_seconds": last[0] - points[0][0]}


def per_file(run: Run) -> float | None:
    """Seconds per file in the steady state."""
    ends = run.get("ends", [])
    return (ends[-1] - ends[SETTLED - 1]) / (len(ends) - SETTLED) if len(ends) > SETTLED else None


def line(record: Record) -> str:
    """A progress line for a record."""
    if record["part"] == "line":
        return f"the emulated link without limit passes {record['bytes_per_second'] / 1e6:.0f} MB/s"
    point = Point(record)
    where = f"{record['part']} {record['protocol']} {record.get('file', '')} {record['megabits']:g} Mbit/s"
    counts = " ".join(
        f"{name}={value:g}"
        for name in ("round_trips", "connections", "bytes_sent", "link_share")
        if (value := point.median(name)) is not None
    )
    steady = [value for run in point.runs if (value := per_file(run)) is not None]
    if steady:
        counts += f" per_file={median(steady):.3f}"
    return f"{where} {point.rtt_ms:g} ms {point.client}: {point.text()} s {counts} {point.error or ''}"


class Table:
    """The points of one file, protocol and bandwidth."""

    def __init__(self, records: list[Record], file: str, protocol: str, megabits: float) -> None:
        self.file, self.protocol, self.megabits = file, protocol, megabits
        wanted = (file, protocol, megabits)
        self.points = [
            Point(each) for each in records if (each["file"], each["protocol"], each["megabits"]) == wanted
        ]

    @property
    def name(self) -> str:
        limit = f"{self.megabits:g} Mbit/s" if self.megabits else "no limit"
        return f"{self.protocol}://, {self.file}, {limit}"

    @property
    def round_trips(self) -> list[float]:
        return sorted({point.rtt_ms for point in self.points})

    def point(self, client: str, rtt_ms: float) -> Point | None:
        return next((each for each in self.points if (each.client, each.rtt_ms) == (client, rtt_ms)), None)

    def faster(self, rtt_ms: float) -> tuple[float, str] | None:
        """The speed-up of sapwood over the best peer at a latency, and the name of that peer."""
        ours = self.point("sapwood", rtt_ms)
        peers = [
            (seconds, each.client)
            for each in self.points
            if each.rtt_ms == rtt_ms and each.client != "sapwood" and (seconds := each.at_least) is not None
        ]
        if ours is None or ours.seconds is None or not peers:
            return None
        best, client = min(peers)
        return best / ours.seconds, client

    def worst(self, least_ms: float) -> tuple[float, str] | None:
        """The smallest of these ratios from a latency on, and its latency."""
        found = [
            (ratio[0], f"{rtt_ms:g} ms, {ratio[1]}")
            for rtt_ms in self.round_trips
            if rtt_ms >= least_ms and (ratio := self.faster(rtt_ms))
        ]
        return min(found, default=None)

    def markdown(self) -> str:
        clients = list(dict.fromkeys(point.client for point in self.points))
        far = max(self.round_trips)
        rows = []
        for client in clients:
            cells: list[str] = []
            for rtt_ms in self.round_trips:
                point = self.point(client, rtt_ms)
                cells.append(point.text() if point else "-")
            last = self.point(client, far)
            whole = last and last.seconds is not None and not any("scaled" in run for run in last.runs)
            rows.append([client, *cells, *(counted(last) if last and whole else ["-"] * 3)])
        ratios = [self.faster(rtt_ms) for rtt_ms in self.round_trips]
        best = [f"**{ratio[0]:.2f}**" if ratio else "-" for ratio in ratios]
        rows.append(["**best peer / sapwood**", *best, "", "", ""])
        head = ["reader", *(f"{rtt_ms:g} ms" for rtt_ms in self.round_trips)]
        return table([*head, "round trips", "connections", "MB"], rows)


def counted(point: Point) -> list[str]:
    """Round trips, connections and MB of complete runs."""
    numbers = [point.median(name) or 0 for name in ("round_trips", "connections", "bytes_sent")]
    return [f"{numbers[0]:.0f}", f"{numbers[1]:.0f}", f"{numbers[2] / 1e6:.1f}"]


def column_tables(records: list[Record]) -> list[Table]:
    chosen = [each for each in records if each["part"] == "columns"]
    keys = dict.fromkeys((each["file"], each["protocol"], each["megabits"]) for each in chosen)
    return [Table(chosen, *key) for key in keys]


def checks(records: list[Record]) -> list[Check]:
    """All requirements."""
    rate = next((each["bytes_per_second"] for each in records if each["part"] == "line"), None)
    found: list[Check] = []
    for each in column_tables(records):
        found += column_checks(each, rate)
    for record in records:
        if record["part"] in ("whole", "files") and record["client"] == "sapwood":
            found += stream_checks(record)
    return found


def column_checks(each: Table, rate: float | None) -> list[Check]:
    """The requirements for three columns, over one protocol and link."""
    found: list[Check] = []
    ours = each.point("sapwood", FARTHEST_MS)
    if ours is not None and not each.megabits:
        counted, moved, seconds = ours.median("round_trips"), ours.median("bytes_sent"), ours.seconds
        if counted is None or moved is None or seconds is None:
            return [(f"{each.name}, 240 ms: is read", ours.text(), "yes", False)]
        most = MOST_ROUND_TRIPS[each.protocol]
        connected = 1 if each.protocol == "root" else 0
        what = "round trips, including the connection" if connected else "round trips after the connection"
        number = counted + connected
        found.append((f"{each.name}, 240 ms: {what}", f"{number:.0f}", f"at most {most}", number <= most))
        floor = (counted + 1) * FARTHEST_MS / 1000 + (moved / rate if rate else 0)
        wall = seconds / floor
        what = f"{each.name}, 240 ms: seconds / ({counted + 1:.0f} round trips + transfer)"
        found.append((what, f"{wall:.2f}", f"at most {WALL}", wall <= WALL))
    if (worst := each.worst(0)) is not None:
        what = f"{each.name}: smallest ratio best peer / sapwood ({worst[1]})"
        found.append((what, f"{worst[0]:.2f}", "at least 1", worst[0] >= 1))
    least = TIMES_FASTER.get(each.protocol)
    if least and (worst := each.worst(DISTANT_MS)) is not None:
        what = f"{each.name}, {DISTANT_MS} ms and more: smallest ratio best peer / sapwood ({worst[1]})"
        # If the link is the bottleneck, no reader can be much faster than one that saturates it.
        limit, holds = (f"at least {least}", worst[0] >= least) if not each.megabits else ("-", None)
        found.append((what, f"{worst[0]:.2f}", limit, holds))
    return found


def stream_checks(record: Record) -> list[Check]:
    """The requirements for a whole file, and for many files."""
    point = Point(record)
    if record["part"] == "whole":
        share = point.median("link_share") or 0
        what = f"{record['protocol']}://, whole file: share of the link from the second second on"
        return [(what, f"{share:.0%}", f"at least {LINK_SHARE:.0%}", share >= LINK_SHARE)]
    steady = [value for run in point.runs if (value := per_file(run)) is not None]
    trips = median(steady) / (point.rtt_ms / 1000) if steady else float("inf")
    what = f"{record['protocol']}://, many files: round trips per file in the steady state"
    return [(what, f"{trips:.2f}", f"at most {ROUND_TRIPS_PER_FILE}", trips <= ROUND_TRIPS_PER_FILE)]


def whole_table(records: list[Record]) -> str:
    rows = []
    for record in records:
        point = Point(record)
        share, moved = point.median("link_share"), point.median("bytes_sent")
        part = point.median("share") or 1
        cells = [point.text(), "-" if share is None else f"{share:.0%}"]
        cells.append("-" if moved is None else f"{moved / 1e6 / part:.0f}")
        rows.append([f"{record['protocol']}://", point.client, *cells])
    return table(["protocol", "reader", "seconds", "share of the link", "MB"], rows)


def files_table(records: list[Record]) -> str:
    rows = []
    for record in records:
        point = Point(record)
        steady = [value for run in point.runs if (value := per_file(run)) is not None]
        each = median(steady) if steady else None
        number = max((len(run.get("ends", [])) for run in point.runs), default=0)
        cells = ["-"] * 2 if each is None else [f"{each:.3f}", f"{each / (point.rtt_ms / 1000):.2f}"]
        rows.append([f"{record['protocol']}://", point.client, str(number), point.text(), *cells])
    head = ["protocol", "reader", "files read", "seconds", "seconds per file", "round trips per file"]
    return table(head, rows)


def tables(records: list[Record]) -> dict[str, str]:
    """All tables, by title."""
    found: dict[str, str] = {}
    if asked := checks(records):
        found["Required"] = required(asked)
    parts = []
    for each in column_tables(records):
        parts += [f"### {each.name}: {LAYOUTS.get(each.file, '')}", each.markdown()]
    if parts:
        found["Three columns"] = "\n\n".join(parts)
    for part, title, make in (("whole", "A whole file", whole_table), ("files", "Many files", files_table)):
        if chosen := [each for each in records if each["part"] == part]:
            found[title] = make(chosen)
    return found
