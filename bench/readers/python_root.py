"""Reads columns of a remote file with ROOT, and prints seconds and sums as JSON: see `bench/root_plugin.py`.

    python_root.py WARM frame|loop|ntuple URL COLUMN...

WARM is a local file with the same trees: ROOT compiles, and loads libraries, before the clock starts.
"""

from __future__ import annotations

import json
import sys
import time

import ROOT

LOOP = """
std::vector<double> LoopOver(const char *url, std::vector<std::string> columns) {
   std::unique_ptr<TFile> file(TFile::Open(url));
   if (!file) throw std::runtime_error("the file cannot be opened");
   auto tree = file->Get<TTree>("t");
   tree->SetCacheSize(10'000'000);
   tree->SetBranchStatus("*", false);
   std::vector<float> values(columns.size());
   std::vector<double> sums(columns.size());
   for (std::size_t i = 0; i < columns.size(); ++i) {
      tree->SetBranchStatus(columns[i].c_str(), true);
      tree->SetBranchAddress(columns[i].c_str(), &values[i]);
      tree->AddBranchToCache(columns[i].c_str());
   }
   tree->StopCacheLearningPhase();
   for (Long64_t entry = 0; entry < tree->GetEntries(); ++entry) {
      if (tree->GetEntry(entry) <= 0) throw std::runtime_error("an entry cannot be read");
      for (std::size_t i = 0; i < columns.size(); ++i) sums[i] += values[i];
   }
   return sums;
}
"""


def frame(name: str, url: str, columns: list[str]) -> list[float]:
    """The sums, by RDataFrame."""
    data = ROOT.RDataFrame(name, url)
    sums = [data.Sum(column) for column in columns]
    return [float(one.GetValue()) for one in sums]


def read(what: str, url: str, columns: list[str]) -> list[float]:
    """The sums of the columns."""
    if what == "loop":
        return [float(one) for one in ROOT.LoopOver(url, columns)]
    return frame("n" if what == "ntuple" else "t", url, columns)


def main() -> None:
    warm, what, url, *columns = sys.argv[1:]
    ROOT.gInterpreter.Declare(LOOP)
    read(what, warm, columns)
    handler = ROOT.gROOT.GetPluginManager().FindHandler("TFile", url)
    if handler:
        handler.LoadPlugin()
    start = time.monotonic()
    sums = read(what, url, columns)
    print(json.dumps({"seconds": time.monotonic() - start, "sums": sums}))


if __name__ == "__main__":
    main()
