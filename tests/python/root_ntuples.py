"""Writes a TNtuple, a TNtupleD and a stored TChain: run by a Python that has ROOT, see `root_peer.py`."""

from __future__ import annotations

import sys

import ROOT

CODE = r"""
void write_ntuples(const char *path)
{
   TFile file(path, "RECREATE");
   TNtuple floats("floats", "three numbers", "x:y:z");
   TNtupleD doubles("doubles", "two numbers", "x:y");
   for (int i = 0; i < 500; ++i) {
      floats.Fill(i, 2 * i, i / 2.f);
      doubles.Fill(i, i / 3.);
   }
   TChain chain("floats");
   chain.Add(path);
   file.Write();
   file.WriteObject(&chain, "chain");
}
"""

ROOT.gInterpreter.Declare(CODE)
ROOT.write_ntuples(sys.argv[1])
