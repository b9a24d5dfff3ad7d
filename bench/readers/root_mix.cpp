// Mixes background events into signal events with ROOT, and prints a line of JSON.
//
// root_mix random|sequential CACHE SECONDS SIGNALS NUMBER SEED TREE SIGNAL POOL...
//
// Each signal event is read with NUMBER background events: entries of the pool that are drawn at random, or, from a random entry on, one after
// the other. CACHE is the size of the TTreeCache in bytes: 0 for none, -1 for what ROOT takes by itself. Files stay
// open. After SECONDS seconds the loop ends early, and the result says what share it did.
#include "remote.h"
#include <TBranch.h>
#include <TFile.h>
#include <TLeaf.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

struct Input {
   std::string fUrl;
   std::unique_ptr<TFile> fFile = nullptr;
   TTree *fTree = nullptr;

   TTree &Open(const char *name, long cache)
   {
      if (!fTree) {
         fFile.reset(TFile::Open(fUrl.c_str()));
         fTree = fFile ? fFile->Get<TTree>(name) : nullptr;
         if (!fTree) {
            std::fprintf(stderr, "no tree %s in %s\n", name, fUrl.c_str());
            std::exit(1);
         }
         if (cache >= 0)
            fTree->SetCacheSize(cache);
      }
      return *fTree;
   }
};

int main(int argc, char **argv)
{
   if (argc < 10) {
      std::fprintf(stderr, "usage: root_mix random|sequential CACHE SECONDS SIGNALS NUMBER SEED TREE SIGNAL POOL...\n");
      return 2;
   }
   WarmUp();
   const bool isRandom = std::string(argv[1]) == "random";
   const long cache = std::atol(argv[2]), signals = std::atol(argv[4]), number = std::atol(argv[5]);
   const double limit = std::atof(argv[3]);
   const char *name = argv[7];
   std::mt19937_64 random(std::atol(argv[6]));
   Input signal{argv[8]};
   std::vector<Input> pool;
   for (int i = 9; i < argc; i++)
      pool.push_back(Input{argv[i]});

   const auto begin = Clock::now();
   const auto seconds = [&] { return Seconds(begin); };
   double first = 0;
   long done = 0;
   std::size_t place = random() % pool.size();
   Long64_t entry = -1;
   TTree &primary = signal.Open(name, -1);
   for (long event = 0; event < signals && seconds() < limit; event++) {
      primary.GetEntry(event);
      for (long i = 0; i < number && seconds() < limit; i++, done++) {
         if (isRandom)
            place = random() % pool.size();
         TTree *tree = &pool[place].Open(name, cache);
         if (isRandom || entry < 0) {
            entry = random() % tree->GetEntries();
         } else if (++entry == tree->GetEntries()) {
            place = (place + 1) % pool.size();
            tree = &pool[place].Open(name, cache);
            entry = 0;
         }
         tree->GetEntry(entry);
      }
      if (event == 0)
         first = seconds();
   }
   const double all = seconds();
   long requests = signal.fFile->GetReadCalls();
   for (auto &one : pool)
      requests += one.fFile ? one.fFile->GetReadCalls() : 0;
   std::printf("{\"seconds\": %.6f, \"first\": %.6f, \"share\": %.6f, \"requests\": %ld}\n", all, first,
               double(done) / double(signals * number), requests);
}
