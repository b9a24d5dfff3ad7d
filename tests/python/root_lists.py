"""Writes a tree of objects that refer to each other: run by a Python that has ROOT, see `root_peer.py`.

The tree `T` has two branches of lists, unsplit, in baskets of a few entries. A list holds histograms, which
have null pointers and lists of their own, a text, that text again, and an array of pointers to some of them.
The record of the tree carries objects along that are stored in unusual ways.
"""

from __future__ import annotations

import sys

import ROOT

CODE = r"""
void write_lists(const char *path)
{
   TH1::AddDirectory(kFALSE);
   TFile file(path, "RECREATE");
   auto tree = new TTree("T", "objects that refer to each other");
   auto carried = new TClonesArray("TNamed");
   new ((*carried)[0]) TNamed("first", "carried along");
   carried->BypassStreamer(kFALSE);
   auto bits = new TBits(1200);
   bits->SetBitNumber(77);
   auto line = new TPolyLine3D(2); // streamed by hand
   line->SetPoint(1, 1.5, 2.5, 3.5);
   for (auto object : std::vector<TObject *>{bits, carried, line, new TObjString("behind them")})
      tree->GetUserInfo()->Add(object);
   auto lists = new TList, others = new TList;
   Int_t number = 0;
   tree->Branch("number", &number, "number/I");
   tree->Branch("lists", "TList", &lists, 4000, 0);
   tree->Branch("others", "TList", &others, 1500, 0);
   for (number = 0; number < 40; ++number) {
      lists->Clear("nodelete"); // what stands in it twice would be deleted twice
      others->Clear("nodelete");
      for (int i = 0; i <= number % 4; ++i) {
         auto histogram = new TH1F(Form("h%d", i), Form("of %d", number), 3 + i, 0, 1);
         histogram->Fill(0.1 * i, number);
         if (i % 2) histogram->GetXaxis()->SetBinLabel(1, "labelled");
         lists->Add(histogram);
      }
      auto text = new TObjString(Form("text %d", number));
      auto array = new TObjArray;
      array->Add(text);
      array->Add(nullptr);
      array->Add(lists->First());
      lists->Add(text);
      lists->Add(text);
      lists->Add(array);
      lists->Add(new TObjString("last"));
      others->Add(new TNamed(Form("name %d", number), number % 3 ? "title" : ""));
      if (number % 3) others->Add(others->First());
      others->Add(new TNamed("another", "of the same class"));
      tree->Fill();
   }
   tree->Write();
}
"""


def main() -> None:
    """Writes to the path that it is given."""
    if not ROOT.gInterpreter.Declare(CODE):
        raise SystemExit("the program does not compile")
    ROOT.write_lists(sys.argv[1])


if __name__ == "__main__":
    main()
