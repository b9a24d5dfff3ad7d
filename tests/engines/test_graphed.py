"""graphed reads partitions through sapwood: same bits on every runner, only the columns of the plan."""

from __future__ import annotations

import pickle
import time
from typing import Any

import awkward as ak
import numpy as np
import pytest
from served_files import Served

import sapwood

graphed = pytest.importorskip("graphed")
executors = pytest.importorskip("graphed_executors.local")
from graphed.core.execution import SequentialRunner  # noqa: E402


def reduce(values: list[Any]) -> Any:
    return np.array([len(values[0]), float(ak.sum(values[0])), float(ak.sum(values[0] ** 0.5))])


def combine(left: Any, right: Any) -> Any:
    return left + right


def empty() -> Any:
    return np.zeros(3)


def plan_of(array: Any, steps_per_file: int = 3) -> Any:
    how = {"reduce": reduce, "combine": combine, "empty": empty}
    return graphed.aggregate_plan(array, steps_per_file=steps_per_file, **how)


def test_every_cluster_gives_the_same_bits(served: Served) -> None:
    distributed = pytest.importorskip("distributed")
    from graphed_executors.dask_backend.backend import dask_runner

    events = sapwood.graphed.open_files(served.urls, tree="Events")
    plan = plan_of(events.met * 2)
    found = []
    for workers in (1, 2):
        with executors.ProcessPoolExecutor(workers) as pool:
            found.append(pool.run(plan).value)
    settings = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        found.append(dask_runner(client).run(plan).value)
    assert len({one.tobytes() for one in found}) == 1
    # Without workers, graphed adds up in another order.
    assert np.allclose(SequentialRunner().run(plan).value, found[0])
    everything = sapwood.concatenate([f"{url}:Events" for url in served.urls], ["met"]).met
    assert found[0][0] == len(everything) and np.isclose(found[0][1], 2 * ak.sum(everything))


def test_a_plan_reads_only_its_columns(served: Served) -> None:
    events = sapwood.graphed.open_files(served.urls, tree="Events")
    source = sapwood.graphed.Source(*_parts_of(served))
    assert source.projected_columns((events.met + events.nJet_pt,)) == ("met", "nJet_pt")
    assert source.projected_columns((events.Jet_pt,)) == ("Jet_pt",)


def _parts_of(served: Served) -> Any:
    from sapwood.integrations.clusters.tasks import plan

    return plan(served.urls, tree="Events"), "events", ["run", "met", "nJet_pt", "Jet_pt"]


def test_ten_thousand_files_are_planned_in_a_second(served: Served) -> None:
    with sapwood.open(served.urls[0]) as file:
        form = file["Events"].arrays(["met"], entry_stop=0).layout.form
    urls = [f"root://example.invalid//store/file_{at:06d}.root" for at in range(10_000)]
    start = time.perf_counter()
    plan = plan_of(sapwood.graphed.open_files(urls, tree="Events", form=form).met, steps_per_file=1)
    assert time.perf_counter() - start < 1
    assert len(pickle.dumps(plan.tasks)) < 2_000_000 and len(pickle.dumps(plan.process)) < 10_000
