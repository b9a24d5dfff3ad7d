// Writes edm.root (with MetaData and ParameterSets) or, with "plain", edm_plain.root (without these).
// Event e has e % 4 muons with pt = 10 e + i, and e % 3 tracks; every fifth has no displaced tracks.
#include "classes.h"
#include <TFile.h>
#include <TTree.h>
#include <TSystem.h>
#include <cstring>

using namespace edm;

struct Lumi { unsigned int run, lumi; int events; };
static const Lumi lumis[] = {{1, 10, 6}, {1, 11, 5}, {1, 10, 4}, {2, 1, 7}, {2, 5, 8}};

template <class T> Wrapper<T> *product(TTree &tree, ProductRegistry &registry, BranchKey const &key, const char *cls, int split) {
  auto *wrapper = new Wrapper<T>();
  auto **address = new Wrapper<T> *(wrapper);
  std::string name = key.friendlyClassName_ + "_" + key.moduleLabel_ + "_" + key.productInstanceName_ + "_" + key.processName_ + ".";
  tree.Branch(name.c_str(), address, 4096, split);
  auto &entry = registry.productList_[key];
  entry.moduleLabel_ = key.moduleLabel_;
  entry.processName_ = key.processName_;
  entry.friendlyClassName_ = key.friendlyClassName_;
  entry.productInstanceName_ = key.productInstanceName_;
  entry.fullClassName_ = cls;
  entry.branchID_.id_ = 1000 + static_cast<unsigned int>(registry.productList_.size());
  wrapper->present = true;
  return wrapper;
}

int main(int argc, char **argv) {
  gSystem->Load("./libedm.so");
  bool plain = argc > 1 && !std::strcmp(argv[1], "plain");
  TFile file(plain ? "edm_plain.root" : "edm.root", "RECREATE", "", 505);
  TTree events("Events", "Events");
  ProductRegistry registry;
  auto *auxiliary = new EventAuxiliary();
  events.Branch("EventAuxiliary", &auxiliary, 4096, plain ? 0 : 99);
  using Tracks = std::vector<reco::Track>;
  auto *tracks = product<Tracks>(events, registry, {"recoTracks", "generalTracks", "", "RECO"}, "std::vector<reco::Track>", 99);
  auto *displaced = product<Tracks>(events, registry, {"recoTracks", "displacedTracks", "", "RECO"}, "std::vector<reco::Track>", 1);
  auto *old_muons = product<std::vector<pat::Muon>>(events, registry, {"patMuons", "slimmedMuons", "", "RECO"}, "std::vector<pat::Muon>", 1);
  auto *muons = product<std::vector<pat::Muon>>(events, registry, {"patMuons", "slimmedMuons", "", "PAT"}, "std::vector<pat::Muon>", plain ? 0 : 1);
  auto *first = product<std::vector<int>>(events, registry, {"ints", "flags", "first", "PAT"}, "std::vector<int>", 1);
  auto *second = product<std::vector<int>>(events, registry, {"ints", "flags", "second", "PAT"}, "std::vector<int>", 1);
  auto *rho = product<double>(events, registry, {"double", "fixedGridRhoAll", "", "RECO"}, "double", plain ? 0 : 1);
  auto &dropped = registry.productList_[{"ints", "dropped", "", "RECO"}];
  dropped.moduleLabel_ = "dropped"; dropped.processName_ = "RECO"; dropped.friendlyClassName_ = "ints"; dropped.fullClassName_ = "std::vector<int>";
  registry.productList_[{"recoTracks", "generalTracks", "", "RECO"}].branchAliases_ = {"allTracks"};
  events.SetAlias("allTracks", "recoTracks_generalTracks__RECO.obj");
  events.SetAlias("generalTracks", "recoTracks_generalTracks__RECO.obj");

  auto *index = new IndexIntoFile();
  index->processHistoryIDs_ = {{"0123456789abcdef0123456789abcdef"}};
  index->runOrLumiEntries_.push_back({0, -1, 0, 0, 1, 0, -1, -1});
  int e = 0;
  for (auto const &lumi : lumis) {
    index->runOrLumiEntries_.push_back({0, 0, 0, 0, lumi.run, lumi.lumi, e, e + lumi.events});
    for (int stop = e + lumi.events; e < stop; e++) {
      auxiliary->processHistoryID_.hash_ = "0123456789abcdef0123456789abcdef";
      auxiliary->id_ = {lumi.run, plain ? 0 : lumi.lumi, 5000000000ull + e};
      auxiliary->luminosityBlock_ = plain ? lumi.lumi : 0;
      tracks->obj.assign(e % 3, {});
      for (size_t i = 0; i < tracks->obj.size(); i++) tracks->obj[i] = {e + .5f, i % 2 ? 1 : -1, std::vector<int>(i + 1, e)};
      displaced->present = e % 5 != 0;
      displaced->obj.assign(displaced->present ? 1 : 0, {1.5f, 1, {e}});
      muons->obj.assign(e % 4, {});
      for (size_t i = 0; i < muons->obj.size(); i++) {
        auto &muon = muons->obj[i];
        muon.pt_ = 10.f * e + i; muon.eta_ = .25f * i; muon.pdgId_ = i % 2 ? 13 : -13; muon.isolations_.assign(i, .125f); muon.selectors_ = 7 * e;
      }
      old_muons->obj.assign(1, {});
      first->obj = {e}; second->obj = {e, e};
      rho->obj = .5 * e;
      events.Fill();
    }
  }
  index->runOrLumiEntries_.push_back({1, 3, 3, 0, 2, 9, -1, -1});  // a luminosity block without events
  if (!plain) {
    TTree meta("MetaData", "MetaData"), sets("ParameterSets", "ParameterSets");
    auto *registered = &registry;
    auto *version = new FileFormatVersion{35};
    auto *history = new std::vector<ProcessHistory>();
    history->push_back({{{"HLT", {"00000000000000000000000000000001"}, "CMSSW_14_0_1", ""}, {"RECO", {"00000000000000000000000000000002"}, "CMSSW_14_0_2", ""}, {"PAT", {"00000000000000000000000000000003"}, "CMSSW_14_0_3", ""}}});
    meta.Branch("FileFormatVersion", &version, 4096, 0);
    meta.Branch("IndexIntoFile", &index, 4096, 0);
    meta.Branch("ProcessHistory", &history, 4096, 0);
    meta.Branch("ProductRegistry", &registered, 4096, 0);
    meta.Fill();
    auto *blob = new std::pair<edm::Hash<1>, edm::ParameterSetBlob>();
    sets.Branch("IdToParameterSetsBlobs", &blob, 4096, 0);
    blob->first.hash_ = "00000000000000000000000000000003";
    blob->second.pset_ = "<maxEvents=+I(-1);process=+S(504154);tags=+v({a:b,c});weights=-d({1.5,2});options=+Q(00000000000000000000000000000002);on=+B(true)>";
    sets.Fill();
    blob->first.hash_ = std::string("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\2", 16);
    blob->second.pset_ = "<names=+s({6162,63});inner=+P(<n=+U(3)>)>";
    sets.Fill();
    meta.Write();
    sets.Write();
  }
  file.Write();
  file.Close();
}
