// Writes a tree "Events" of 14 branches with hits and tracks: minbias OUT.root SEED EVENTS HITS
// ZSTD-5, a cluster every 500 events. Events are numbered from SEED * EVENTS on.
#include "values.h"
#include <TFile.h>
#include <TTree.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Collection {
   std::string fName;
   std::vector<std::string> fVariables;
   int fCount = 0;
   std::vector<std::vector<float>> fData = {};
};

int main(int argc, char **argv)
{
   if (argc < 5) {
      std::fprintf(stderr, "usage: minbias OUT.root SEED EVENTS HITS\n");
      return 2;
   }
   const long seed = std::atol(argv[2]), events = std::atol(argv[3]);
   const float hits = std::atof(argv[4]);
   constexpr int kMostItems = 4000;

   TFile file(argv[1], "RECREATE", "", 505);
   auto *tree = new TTree("Events", "hits and tracks");
   tree->SetAutoFlush(500);
   Long64_t number;
   float vertex[3];
   tree->Branch("event", &number, "event/L");
   tree->Branch("vertex", vertex, "vertex[3]/F");
   std::vector<Collection> collections = {{"Hit", {"energy", "time", "x", "y", "z"}}, {"Track", {"pt", "eta", "phi", "chi2", "dxy"}}};
   for (auto &collection : collections) {
      const std::string counter = "n" + collection.fName;
      tree->Branch(counter.c_str(), &collection.fCount, (counter + "/I").c_str());
      collection.fData.assign(collection.fVariables.size(), std::vector<float>(kMostItems));
      for (std::size_t i = 0; i < collection.fVariables.size(); i++) {
         const std::string name = collection.fName + "_" + collection.fVariables[i];
         tree->Branch(name.c_str(), collection.fData[i].data(), (name + "[" + counter + "]/F").c_str());
      }
   }

   Random random(seed + 1);
   for (long entry = 0; entry < events; entry++) {
      number = seed * events + entry;
      for (float &value : vertex)
         value = CutMantissa(random.Gauss() * 5, 18);
      // Activity varies from event to event.
      const float activity = random.Exponential(hits);
      for (auto &collection : collections) {
         const float share = collection.fName == "Hit" ? 1.0f : 0.2f;
         collection.fCount = std::min(int(activity * share), kMostItems);
         for (auto &data : collection.fData)
            for (int k = 0; k < collection.fCount; k++)
               data[k] = CutMantissa(random.Exponential(2), 12);
      }
      tree->Fill();
   }
   tree->Write();
   std::printf("%lld entries, %d branches, %.0f MB in baskets of %.0f MB uncompressed\n", tree->GetEntries(),
               tree->GetListOfBranches()->GetEntries(), tree->GetZipBytes() / 1e6, tree->GetTotBytes() / 1e6);
   file.Close();
}
