// Classes with arrays whose length is another member.
#pragma once
#include <vector>

#include <Rtypes.h>
#include <TObject.h>

namespace counted {
struct Wave {
   Int_t count = 0;
   Float_t *samples = nullptr;   //[count]
   Double32_t *weights = nullptr; //[count]
   Short_t flags[4] = {};
   Int_t others = 0;
   UChar_t *bits = nullptr; //[others]
   Wave() = default;
   Wave(const Wave &other) { *this = other; }
   Wave &operator=(const Wave &other)
   {
      if (this == &other) return *this;
      Resize(other.count, other.others);
      for (int i = 0; i < count; ++i) {
         samples[i] = other.samples[i];
         weights[i] = other.weights[i];
      }
      for (int i = 0; i < others; ++i) bits[i] = other.bits[i];
      for (int i = 0; i < 4; ++i) flags[i] = other.flags[i];
      return *this;
   }
   ~Wave() { Resize(0, 0); }
   void Resize(int size, int more)
   {
      delete[] samples;
      delete[] weights;
      delete[] bits;
      count = size;
      others = more;
      samples = size ? new Float_t[size] : nullptr;
      weights = size ? new Double32_t[size] : nullptr;
      bits = more ? new UChar_t[more] : nullptr;
   }
};
struct Limited {
   UInt_t unused = 0;
   Int_t size = 0;
};
// Counted by a member of its base.
struct Spectrum : public Limited {
   Float_t *bins = nullptr; //[size]
   Spectrum() = default;
   Spectrum(const Spectrum &other) { *this = other; }
   Spectrum &operator=(const Spectrum &other)
   {
      if (this == &other) return *this;
      Resize(other.size);
      for (int i = 0; i < size; ++i) bins[i] = other.bins[i];
      return *this;
   }
   ~Spectrum() { Resize(0); }
   void Resize(int count)
   {
      delete[] bins;
      size = count;
      bins = count ? new Float_t[count] : nullptr;
   }
};
struct Event : public TObject {
   Wave wave;
   Int_t number = 0;
   Spectrum spectrum;
   Int_t triggers = 0;
   UShort_t *trigger = nullptr; //[triggers]
   ~Event() { delete[] trigger; }
   ClassDef(Event, 2)
};
struct Module {
   Wave wave;
   Spectrum spectrum;
   Int_t id = 0;
};
struct Detector {
   std::vector<Wave> waves;
   Int_t id = 0;
};
} // namespace counted
