// Classes that are or hold a TClonesArray.
#pragma once
#include <vector>

#include <Rtypes.h>
#include <TClonesArray.h>
#include <TNamed.h>
#include <TObject.h>
#include <TRef.h>

namespace clones {
struct Point {
   Float_t x = 0, y = 0;
};
struct Hit : public TObject {
   Int_t channel = 0;
   Double32_t energy = 0;
   Point at;
   TRef track;
   ClassDef(Hit, 2)
};
struct Track : public TNamed {
   Float_t momentum[3] = {};
   std::vector<Int_t> hits;
   Short_t charge = 0;
   ClassDef(Track, 4)
};
struct Event : public TObject {
   Int_t number = 0;
   TClonesArray hits{"clones::Hit"};
   TClonesArray *tracks = new TClonesArray("clones::Track"); //->
   ~Event() { delete tracks; }
   ClassDef(Event, 1)
};
struct Holder {
   Event event;
   Int_t code = 0;
};
} // namespace clones
