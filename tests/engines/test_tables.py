"""DuckDB and Polars over 20 remote files give the answers of Parquet, and read no more than they need."""

from __future__ import annotations

from typing import Any

import pytest
from served_files import CLUSTER, ENTRIES, FILES, Served

import sapwood
from sapwood.query import stages

duckdb = pytest.importorskip("duckdb")
pl = pytest.importorskip("polars")

QUERIES = [
    "select count(*), sum(run) from {}",
    "select sum(met) from {} where run >= 77000",
    "select run, met from {} where run between 3990 and 4010 and ok order by run",
    "select count(*) from {} where met > 100.5 and run < 2000",
    "select count(*) from {} where ok = true or met < 1",
    "select nJet_pt, count(*), avg(met) from {} group by nJet_pt order by nJet_pt",
    "select run, unnest(Jet_pt) as pt from {} where run in (5, 50000, 79999) order by run, pt",
    "select max(list_sum(Jet_pt)) from {} where nJet_pt > 2 and not ok",
    "select count(*) from {} where run <> 7 and met is not null",
    "select a.run from {} a join {} b on a.run = b.run + 1 where a.met > 200 order by 1",
    "select run from {} order by met desc, run limit 3",
]


@pytest.fixture(scope="module")
def events(served: Served) -> Any:
    return sapwood.arrow_dataset(served.urls, "Events")


def about(rows: list[tuple[Any, ...]]) -> list[Any]:
    """Rows whose floats may differ by rounding: engines add them up in another order."""
    return [pytest.approx(row) for row in rows]


@pytest.mark.parametrize("query", QUERIES)
def test_duckdb_answers_as_over_parquet(query: str, events: Any, served: Served) -> None:
    expected = duckdb.sql(query.replace("{}", f"'{served.parquet}'")).fetchall()
    assert duckdb.sql(query.replace("{}", "events")).fetchall() == about(expected)
    assert expected


POLARS = [
    lambda frame: frame.select(pl.len(), pl.col("run").sum()),
    lambda frame: frame.filter(pl.col("run") >= 77_000).select(pl.col("met").sum()),
    lambda frame: frame.filter(pl.col("run").is_between(3990, 4010) & pl.col("ok")).select("run", "met"),
    lambda frame: frame.filter((pl.col("met") > 100.5) | ~pl.col("ok")).select(pl.len()),
    lambda frame: frame.filter(pl.col("run").is_in([5, 50_000])).select("run", "Jet_pt").explode("Jet_pt"),
    lambda frame: frame.group_by("nJet_pt").agg(pl.col("met").max()).sort("nJet_pt"),
    lambda frame: frame.filter(pl.col("met").sqrt() > 12).select("run").sort("run"),
    lambda frame: frame.select("run", "met").head(7),
]


@pytest.mark.parametrize("number", range(len(POLARS)))
def test_polars_answers_as_over_parquet(number: int, events: Any, served: Served) -> None:
    expected = POLARS[number](pl.scan_parquet(served.parquet)).collect()
    found = POLARS[number](pl.scan_pyarrow_dataset(events)).collect()
    assert found.rows() == about(expected.rows())
    assert len(expected)


def _query_by_duckdb(events: Any) -> Any:
    return duckdb.sql("select sum(met) from events where run >= 77000").fetchall()[0][0]


def _query_by_polars(events: Any) -> Any:
    scan = pl.scan_pyarrow_dataset(events)
    return scan.filter(pl.col("run") >= 77_000).select(pl.col("met").sum()).collect().item()


@pytest.mark.parametrize("query", [_query_by_duckdb, _query_by_polars])
def test_only_named_columns_and_unexcluded_clusters_are_read(
    query: Any, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    # These files are so small that a second stage would otherwise not be worthwhile.
    monkeypatch.setitem(stages.THRESHOLDS, "least_bytes", 1)
    events = sapwood.arrow_dataset(served.urls, "Events", step_size=CLUSTER)
    query(events)
    report = events.report()
    assert report is not None and len(report.by_file) == FILES and report.unplanned_reads == 0
    clusters = ENTRIES // CLUSTER
    # "run" everywhere; "met" only in the three clusters where an entry passes.
    assert report.baskets == FILES * clusters + 3
    with sapwood.open(served.folder / "00.root") as file:
        one = file["Events"]["met"].compressed_bytes / clusters
    assert report.skipped_bytes == pytest.approx((FILES * clusters - 3) * one, rel=0.05)


def test_a_dataset_of_stripes_skips_what_statistics_exclude(served: Served, tmp_path: Any) -> None:
    from sapwood import stripe

    paths = [str(served.folder / f"{number:02d}.root") for number in range(4)]
    stripe.create(str(tmp_path / "ds"), paths, tree="Events", batch=CLUSTER)
    events = sapwood.arrow_dataset(str(tmp_path / "ds"))
    query = "select count(*), sum(met) from events where run >= 14500"
    expected = duckdb.sql(query.replace("events", f"'{served.parquet}'") + f" and run < {4 * ENTRIES}")
    assert duckdb.sql(query).fetchall() == about(expected.fetchall())
    report = events.report()
    assert report is not None and report.excluded_entries == 14_000
