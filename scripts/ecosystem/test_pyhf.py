"""pyhf's reader of HistFactory documents, whose histograms are in ROOT files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import uproot

readxml = pytest.importorskip("pyhf.readxml")

CHANNEL = """<!DOCTYPE Channel SYSTEM "HistFactorySchema.dtd">
<Channel Name="signal" InputFile="histograms.root">
  <Data HistoName="data" HistoPath="" />
  <Sample Name="background" HistoName="background" HistoPath="" NormalizeByTheory="False">
    <HistoSys Name="shape" HistoNameHigh="up" HistoNameLow="down" />
  </Sample>
</Channel>
"""
COMBINATION = """<!DOCTYPE Combination SYSTEM "HistFactorySchema.dtd">
<Combination OutputFilePrefix="results/test">
  <Input>channel.xml</Input>
  <Measurement Name="measurement" Lumi="1.0" LumiRelErr="0.1"><POI>mu</POI></Measurement>
</Combination>
"""


def test_a_document_with_histograms_is_read(tmp_path: Path) -> None:
    edges = np.linspace(0, 1, 4)
    contents = {"data": [5, 7, 9], "background": [4, 6, 8], "up": [5, 6, 9], "down": [3, 6, 7]}
    with uproot.recreate(tmp_path / "histograms.root") as file:
        for name, values in contents.items():
            file[name] = np.array(values, dtype="f8"), edges
    (tmp_path / "channel.xml").write_text(CHANNEL, encoding="utf-8")
    (tmp_path / "combination.xml").write_text(COMBINATION, encoding="utf-8")
    spec = readxml.parse(tmp_path / "combination.xml", tmp_path)
    [channel], [observation] = spec["channels"], spec["observations"]
    [sample] = channel["samples"]
    [shape] = [one for one in sample["modifiers"] if one["type"] == "histosys"]
    assert sample["data"] == contents["background"] and observation["data"] == contents["data"]
    assert shape["data"] == {"hi_data": contents["up"], "lo_data": contents["down"]}
