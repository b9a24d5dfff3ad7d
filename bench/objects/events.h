// Writes a file of events with products, and with the trees for lumis, runs and metadata, as the framework of CMS does.
#pragma once
#include "fill.h"
#include <TBranch.h>
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {
constexpr int kBasketSize = 16384;
enum Split { kUnsplit = 0, kSplit = 99 };

Filler gFill;
TTree *gEvents;
int gSplitAll = -1; // the split level of all products, unless it is negative

int Level(int split) { return gSplitAll < 0 ? split : gSplitAll; }
const char *gProcess = "PAT";
std::vector<std::function<void()>> gProducts;

template <class T>
void Product(const char *type, const std::string &label, Split split, std::function<void(T &)> fill,
             const char *instance = "", const char *process = gProcess)
{
   auto **wrapper = new edm::Wrapper<T> *(new edm::Wrapper<T>);
   const std::string name = std::string(type) + "_" + label + "_" + instance + "_" + process + ".";
   if (!gEvents->Branch(name.c_str(), wrapper, kBasketSize, Level(split))) {
      std::fprintf(stderr, "no branch %s\n", name.c_str());
      std::exit(1);
   }
   gProducts.push_back([wrapper, fill] { fill((*wrapper)->obj); });
}

// A collection: `mean` items per event, each filled on its own.
template <class T>
void Collection(const char *type, const std::string &label, Split split, float mean, std::function<void(T &)> fill,
                const char *instance = "")
{
   Product<std::vector<T>>(type, label, split, [mean, fill](auto &items) {
      gFill.Resize(items, mean);
      for (auto &item : items)
         fill(item);
   }, instance);
}

// Writes the trees of a file. `products` adds the products of an event.
void WriteFile(const char *path, int compression, long events, void (*products)())
{
   constexpr int kEventsPerLumi = 500;

   ROOT::EnableImplicitMT(2);
   TFile file(path, "RECREATE", "", compression);
   gEvents = new TTree("Events", "Events");
   gEvents->SetAutoFlush(-20 * 1024 * 1024);
   edm::EventAuxiliary auxiliary;
   std::vector<edm::StoredProductProvenance> provenance;
   std::vector<std::uint16_t> lists = {0, 1, 2};
   gEvents->Branch("EventAuxiliary", &auxiliary, kBasketSize, Level(kSplit));
   gEvents->Branch("BranchListIndexes", &lists, kBasketSize, Level(kSplit));
   gEvents->Branch("EventProductProvenance", &provenance, kBasketSize, Level(kSplit));
   products();
   for (unsigned i = 0; i < 40; i++)
      provenance.push_back({1000 + i * 77, i});

   auto *lumis = new TTree("LuminosityBlocks", "LuminosityBlocks");
   edm::LuminosityBlockAuxiliary lumi;
   lumis->Branch("LuminosityBlockAuxiliary", &lumi, kBasketSize, Level(kSplit));
   for (long event = 0; event < events; event++) {
      auxiliary.processHistoryID_.hash_ = "0123456789abcdef";
      auxiliary.processGUID_ = "ABCDEFGHIJKLMNOP";
      auxiliary.luminosityBlock_ = 1 + event / kEventsPerLumi;
      auxiliary.id_ = {1, auxiliary.luminosityBlock_, ULong64_t(event + 1)};
      auxiliary.time_ = {unsigned(event), 1700000000u};
      auxiliary.bunchCrossing_ = gFill.Below(3564);
      for (auto &product : gProducts)
         product();
      gEvents->Fill();
      if (event % kEventsPerLumi == 0) {
         lumi.run_ = 1;
         lumi.lumi_ = auxiliary.luminosityBlock_;
         lumis->Fill();
      }
   }
   auto *runs = new TTree("Runs", "Runs"), *metadata = new TTree("MetaData", "MetaData");
   edm::RunAuxiliary run;
   edm::FileFormatVersion version{35};
   runs->Branch("RunAuxiliary", &run, kBasketSize, Level(kSplit));
   metadata->Branch("FileFormatVersion", &version, kBasketSize, Level(kSplit));
   runs->Fill();
   metadata->Fill();
   file.Write();
   std::printf("%zu products, %lld entries, %.0f MB of baskets, %.0f MB compressed\n", gProducts.size(),
               gEvents->GetEntries(), gEvents->GetTotBytes() / 1e6, gEvents->GetZipBytes() / 1e6);
}
} // namespace
