// Classes that derive from TObject and TNamed, and members that belong to ROOT's references.
#pragma once
#include <vector>

#include <Rtypes.h>
#include <TNamed.h>
#include <TObject.h>
#include <TRef.h>
#include <TRefArray.h>
#include <TVector3.h>
#include <TLorentzVector.h>

namespace referable {
struct Hit : public TObject {
   Int_t channel = 0;
   Float_t energy = 0;
   ClassDef(Hit, 2)
};
struct Digi : public Hit {
   std::vector<Float_t> charges;
   ClassDef(Digi, 1)
};
struct Label : public TNamed {
   Int_t code = 0;
   ClassDef(Label, 1)
};
struct Point {
   Float_t x = 0, y = 0;
};
struct Pad : public Point, public TObject {
   Short_t row = 0;
   ClassDef(Pad, 3)
};
// Stored without its TObject.
struct Bare : public TObject {
   Int_t value = 0;
   ClassDef(Bare, 1)
};
// Holds an object of each kind.
struct Cell {
   Hit hit;
   Label label;
   TNamed named;
   Pad pad;
   TRef seed;
   TObject mark;
   Double32_t time = 0;
   TLorentzVector momentum;
};
struct Holder {
   Bare bare;
   Int_t code = 0;
};
struct Event : public TObject {
   Int_t number = 0;
   Digi first;
   Cell cell;
   Label label;
   TNamed title;
   std::vector<Hit> hits;
   std::vector<Digi> digis;
   std::vector<Label> labels;
   std::vector<Pad> pads;
   std::vector<Cell> cells;
   std::vector<TNamed> names;
   TLorentzVector sum;
   std::vector<TVector3> points;
   TRef leading;
   TRefArray all;
   ClassDef(Event, 4)
};
struct Run : public TNamed {
   Int_t number = 0;
   std::vector<Label> labels;
   ClassDef(Run, 1)
};
} // namespace referable
