// Writes an xAOD-like file: xaod OUT.root COMPRESSION EVENTS
// CollectionTree, about 1,060 branches of vectors, clusters of 100 events.
#include "../generators/values.h"
#include "xaod.h"
#include <TBranch.h>
#include <TFile.h>
#include <TROOT.h>
#include <TTree.h>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {
constexpr int kBasketSize = 32000, kClusterEntries = 100, kCoordinates = 4;
using Link = ElementLink<JetContainer>;

Random gRandom(99);
TTree *gTree;
std::vector<std::function<void()>> gVariables;
int gBranches;

struct Container {
   std::string fName;
   float fMean;
   int fVariables;
   int fCount = 0;
};

int Below(float limit) { return int(gRandom.Uniform() * limit); }

// A branch of vectors with as many items as the container; `make` makes each item.
template <class T>
void Variable(const std::string &name, const Container &container, std::function<void(T &)> make)
{
   auto *items = new std::vector<T>;
   gTree->Branch(name.c_str(), items, kBasketSize, 1);
   gBranches++;
   gVariables.push_back([items, make, &container] {
      items->resize(container.fCount);
      for (std::size_t i = 0; i < items->size(); i++) {
         T item{};
         make(item);
         (*items)[i] = item;
      }
   });
}

void Momentum(const Container &container, int coordinate)
{
   static const char *names[] = {"pt", "eta", "phi", "m"};
   Variable<float>(container.fName + "AuxDyn." + names[coordinate], container, [coordinate](float &x) {
      switch (coordinate) {
      case 0: x = 20000 + gRandom.Exponential(50000); break;
      case 1: x = gRandom.Gauss() * 1.6f; break;
      case 2: x = (gRandom.Uniform() - .5f) * 6.2831853f; break;
      default: x = 139.57f;
      }
   });
}

// The kinds of variables, in the proportions of a DAOD: floats, flags, integers, links, and vectors of them.
void OtherVariable(const Container &container, int index)
{
   const std::string name = container.fName + "AuxDyn.var" + std::to_string(index);
   auto link = [](Link &item, std::uint32_t key, int count) {
      item.m_persKey = key;
      item.m_persIndex = Below(count);
   };
   if (index % 13 == 5)
      Variable<Link>(name, container, [link](Link &item) { link(item, 0x3a5f11b2, 30); });
   else if (index % 13 == 7)
      Variable<std::vector<float>>(name, container, [](std::vector<float> &values) {
         values.resize(Below(5));
         for (auto &value : values)
            value = gRandom.Uniform() < .3f ? 0 : CutMantissa(gRandom.Gauss(), 14);
      });
   else if (index % 13 == 9)
      Variable<std::vector<Link>>(name, container, [link](std::vector<Link> &links) {
         links.resize(Below(3));
         for (auto &item : links)
            link(item, 0x21d1f9c4, 300);
      });
   else if (index % 5 == 0)
      Variable<char>(name, container, [](char &flag) { flag = gRandom.Uniform() < .7f; });
   else if (index % 5 == 1)
      Variable<int>(name, container, [](int &number) { number = gRandom.Uniform() < .6f ? 0 : Below(12); });
   else if (index % 11 == 2)
      Variable<unsigned char>(name, container, [](unsigned char &number) { number = Below(8); });
   else
      Variable<float>(name, container, [index](float &x) {
         switch (index % 4) {
         case 0: x = gRandom.Uniform() < .5f ? 0 : CutMantissa(gRandom.Exponential(1000), 14); break;
         case 1: x = CutMantissa(gRandom.Uniform(), 12); break;
         case 2: x = CutMantissa(gRandom.Gauss(), 10); break;
         default: x = gRandom.Uniform() < .3f ? -999.f : CutMantissa(gRandom.Gauss(), 16);
         }
      });
}

std::vector<Container> Containers()
{
   std::vector<Container> containers = {
      {"AnalysisJets", 11, 60},           {"AnalysisLargeRJets", 1.5, 55},
      {"AnalysisElectrons", 3, 80},       {"AnalysisMuons", 2.5, 75},
      {"AnalysisPhotons", 4, 60},         {"AnalysisTauJets", 3, 60},
      {"InDetTrackParticles", 55, 26},    {"GSFTrackParticles", 4, 26},
      {"CombinedMuonTrackParticles", 2.5, 26}, {"ExtrapolatedMuonTrackParticles", 2.5, 26},
      {"PrimaryVertices", 25, 14},        {"TruthParticles", 30, 14},
      {"TruthBoson", 1, 14},              {"TruthElectrons", 1, 20},
      {"TruthMuons", 1, 20},              {"TruthTaus", 1, 25},
      {"TruthPhotons", 4, 18},            {"AntiKt4TruthDressedWZJets", 9, 12},
      {"egammaClusters", 6, 22},          {"CaloCalTopoClusters", 40, 12},
      {"BTagging_AntiKt4EMPFlow", 11, 40}, {"DiTauJets", .5, 20}};
   for (int i = 0; i < 18; i++)
      containers.push_back({"HLT_Object" + std::to_string(i), 2.5, 14});
   return containers;
}
} // namespace

int main(int argc, char **argv)
{
   if (argc < 4) {
      std::fprintf(stderr, "usage: xaod OUT.root COMPRESSION EVENTS\n");
      return 2;
   }
   const long events = std::atol(argv[3]);
   constexpr int kEventFloats = 60, kEventFlags = 20;

   ROOT::EnableImplicitMT(2);
   TFile file(argv[1], "RECREATE", "", std::atoi(argv[2]));
   gTree = new TTree("CollectionTree", "CollectionTree");
   gTree->SetAutoFlush(kClusterEntries);
   auto containers = Containers();
   for (auto &container : containers)
      for (int i = 0; i < container.fVariables; i++)
         i < kCoordinates ? Momentum(container, i) : OtherVariable(container, i);
   ULong64_t number = 0;
   float floats[kEventFloats];
   std::uint32_t flags[kEventFlags];
   const std::string prefix = "EventInfoAuxDyn.";
   gTree->Branch((prefix + "eventNumber").c_str(), &number, "eventNumber/l");
   for (int i = 0; i < kEventFloats; i++) {
      const std::string name = "v" + std::to_string(i);
      gTree->Branch((prefix + name).c_str(), &floats[i], (name + "/F").c_str());
   }
   for (int i = 0; i < kEventFlags; i++) {
      const std::string name = "u" + std::to_string(i);
      gTree->Branch((prefix + name).c_str(), &flags[i], (name + "/i").c_str());
   }
   gBranches += 1 + kEventFloats + kEventFlags;

   for (long event = 0; event < events; event++) {
      const float activity = .6f + .8f * gRandom.Uniform();
      for (auto &container : containers)
         container.fCount = gRandom.Poisson(container.fMean * activity);
      number = 10000 + event;
      for (auto &x : floats)
         x = gRandom.Gauss();
      for (auto &x : flags)
         x = Below(16);
      for (auto &variable : gVariables)
         variable();
      gTree->Fill();
   }
   gTree->Write();
   std::printf("%d branches, %lld entries, %.0f MB of baskets, %.0f MB compressed\n", gBranches, gTree->GetEntries(),
               gTree->GetTotBytes() / 1e6, gTree->GetZipBytes() / 1e6);
   return 0;
}
