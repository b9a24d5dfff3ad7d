// Writes an H1-like tree "h42" of 151 branches: h1 OUT.root new|old ENTRIES
// new: today's clusters and baskets; old: as in 2007, baskets of 4000 bytes, no clusters.
#include "values.h"
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Collection {
   std::string fName;
   float fMean;
   int fVariables;
   int fCount = 0;
   std::vector<std::vector<float>> fData = {};
};

int main(int argc, char **argv)
{
   if (argc < 4) {
      std::fprintf(stderr, "usage: h1 OUT.root new|old ENTRIES\n");
      return 2;
   }
   const bool old = std::string(argv[2]) == "old";
   const long entries = std::atol(argv[3]);
   const int basketSize = old ? 4000 : 32000;
   constexpr int kMostItems = 190, kEventVariables = 62;

   ROOT::EnableImplicitMT(2);
   TFile file(argv[1], "RECREATE", "", 101);
   auto *tree = new TTree("h42", "H1-like");
   if (old)
      tree->SetAutoFlush(0);

   int run, event;
   tree->Branch("nrun", &run, "nrun/I", basketSize);
   tree->Branch("nevent", &event, "nevent/I", basketSize);
   std::vector<Collection> collections = {{"trk", 4.0, 22}, {"jet", 2.3, 16}, {"mu", 1.45, 16}, {"el", 1.45, 16}, {"dst", 1.1, 12}};
   for (auto &collection : collections) {
      const std::string counter = "n" + collection.fName;
      tree->Branch(counter.c_str(), &collection.fCount, (counter + "/I").c_str(), basketSize);
      collection.fData.assign(collection.fVariables, std::vector<float>(kMostItems));
      for (int i = 0; i < collection.fVariables; i++) {
         const std::string name = collection.fName + "_v" + std::to_string(i);
         tree->Branch(name.c_str(), collection.fData[i].data(), (name + "[" + counter + "]/F").c_str(), basketSize);
      }
   }
   float values[kEventVariables];
   for (int i = 0; i < kEventVariables; i++) {
      const std::string name = "f" + std::to_string(i);
      tree->Branch(name.c_str(), &values[i], (name + "/F").c_str(), basketSize);
   }

   Random random(4242);
   for (long entry = 0; entry < entries; entry++) {
      run = 1 + entry / 5000;
      event = entry;
      for (auto &collection : collections) {
         collection.fCount = std::min(random.Poisson(collection.fMean), kMostItems);
         for (auto &data : collection.fData)
            for (int k = 0; k < collection.fCount; k++)
               data[k] = CutMantissa(random.Gauss() * 5, 18);
      }
      for (int i = 0; i < kEventVariables; i++)
         values[i] = i % 8 == 0 ? int(random.Uniform() * 8) : CutMantissa(random.Gauss(), i % 3 ? 20 : 12);
      tree->Fill();
   }
   tree->Write();
   std::printf("%lld entries, %d branches, %.0f MB in baskets of %.0f MB uncompressed\n", tree->GetEntries(),
               tree->GetListOfBranches()->GetEntries(), tree->GetZipBytes() / 1e6, tree->GetTotBytes() / 1e6);
   file.Close();
}
