"""What holds for the numbers of every report."""

from sapwood.report import ReadReport


def assert_adds_up(report: ReadReport) -> None:
    """The requests and ranges of all sources are the total; so are those of all files."""
    for name in ("requests", "ranges"):
        total = getattr(report, name)
        assert sum(getattr(use, name) for use in report.sources) == total, (name, report.sources)
        assert sum(getattr(one, name) for one in report.by_file) == total
    if all(use.server == "local" for use in report.sources):
        assert report.round_trips == 0
