// Writes xaod.root. Event e has e % 4 electrons (pt = 10 e + i), e % 3 muons and 2 truth particles (e = 100 e + i);
// electron i links to truth particle i % 2, but the third to nothing; "parents" are as many links as the electron's number.
#include "classes.h"
#include <TFile.h>
#include <TSystem.h>
#include <TTree.h>

int main() {
  gSystem->Load("./libxaod.so");
  TFile file("xaod.root", "RECREATE", "", 505);
  TTree tree("CollectionTree", "CollectionTree"), meta("MetaData", "MetaData");
  auto *info = new xAOD::EventAuxInfo_v1();
  auto *electrons = new xAOD::ElectronAuxContainer_v3();
  auto *muons = new xAOD::MuonAuxContainer_v4();
  auto *charge = new std::vector<int>(), *rare = new std::vector<int>();
  auto *energy = new std::vector<float>();
  auto *link = new std::vector<TruthLink>();
  auto *parents = new std::vector<std::vector<TruthLink>>();
  tree.Branch("EventInfoAux.", &info, 4096, 99);
  tree.Branch("ElectronsAux.", &electrons, 4096, 99);
  tree.Branch("MuonsAux.", &muons, 4096, 0);
  tree.Branch("ElectronsAuxDyn.charge", &charge, 4096, 99);
  tree.Branch("ElectronsAuxDyn.truthParticleLink", &link, 4096, 99);
  tree.Branch("ElectronsAuxDyn.parents", &parents, 4096, 0);
  tree.Branch("ElectronsAuxDyn.rare", &rare, 4096, 99);
  tree.Branch("TruthAuxDyn.e", &energy, 4096, 99);
  const unsigned int truth = 394100163;
  for (int e = 0; e < 20; e++) {
    info->runNumber = 7;
    info->eventNumber = 5000000000ull + e;
    electrons->pt.clear(); electrons->eta.clear(); charge->clear(); link->clear(); parents->clear();
    for (int i = 0; i < e % 4; i++) {
      electrons->pt.push_back(10.f * e + i);
      electrons->eta.push_back(.25f * i);
      charge->push_back(i % 2 ? 1 : -1);
      link->push_back(i == 2 ? TruthLink{} : TruthLink{truth, static_cast<unsigned int>(i % 2)});
      parents->push_back(std::vector<TruthLink>(i, TruthLink{truth, 1}));
    }
    rare->assign(e ? 0 : 1, 5);
    muons->pt.assign(e % 3, 1.f * e);
    muons->author.assign(e % 3, e);
    *energy = {100.f * e, 100.f * e + 1};
    tree.Fill();
  }
  auto *format = new xAOD::EventFormat_v1{{"Truth", "TruthAux.", "Electrons"}, {"DataVector<xAOD::TruthParticle_v1>", "xAOD::AuxContainerBase", "DataVector<xAOD::Electron_v1>"}, {"", "", ""}, {truth, 187612855, 956497600}};
  meta.Branch("EventFormat", &format, 4096, 99);
  meta.Fill();
  file.Write();
  file.Close();
}
