// Writes a MiniAOD-like file: edm OUT.root COMPRESSION EVENTS [split]
// About 110 products, most of them unsplit, and the trees for lumis, runs and metadata; with `split`, all products that ROOT
// can split are split.
#include "events.h"

namespace {
void Candidates()
{
   auto packed = [](auto &candidate) { gFill.Packed(candidate); };
   using Packed = pat::PackedCandidate;
   Collection<Packed>("patPackedCandidates", "packedPFCandidates", kSplit, 900, packed);
   Collection<Packed>("patPackedCandidates", "lostTracks", kSplit, 60, packed);
   Collection<Packed>("patPackedCandidates", "lostTracks", kUnsplit, 1, packed, "eleTracks");
   Collection<Packed>("patPackedCandidates", "oniaPhotons", kUnsplit, .2f, packed);
   Collection<Packed>("patPackedCandidates", "slimmedHcalCands", kUnsplit, 3, packed);
   Collection<pat::PackedGenParticle>("patPackedGenParticles", "packedGenParticles", kSplit, 450, packed);
   Collection<reco::GenParticle>("recoGenParticles", "prunedGenParticles", kSplit, 90, [](auto &particle) {
      gFill.Candidate(particle, gFill.Exponential(30));
      particle.mothers_.assign(gFill.Chance(.1f) ? 2 : 1, gFill.Below(80));
      gFill.Resize(particle.daughters_, 1.1f);
      for (auto &daughter : particle.daughters_)
         daughter = gFill.Below(90);
      particle.statusFlags_ = gFill.Below(16) * 257;
   });
}

void Jets()
{
   auto jet = [](auto &item) { gFill.Jet(item); };
   Collection<pat::Jet>("patJets", "slimmedJets", kSplit, 9, jet);
   Collection<pat::Jet>("patJets", "slimmedJetsPuppi", kUnsplit, 8, jet);
   Collection<pat::Jet>("patJets", "slimmedJetsAK8", kUnsplit, 1.2f, jet);
   Collection<pat::Jet>("patJets", "slimmedCaloJets", kUnsplit, .5f, jet);
   Collection<pat::Jet>("patJets", "slimmedJetsAK8PFPuppiSoftDropPacked", kUnsplit, 1.5f, jet, "SubJets");
   auto generated = [](auto &item) {
      gFill.Candidate(item, 10 + gFill.Exponential(40));
      item.emEnergy_ = gFill.Exponential(10);
      item.hadEnergy_ = gFill.Exponential(20);
      gFill.Pointers(item.daughters_, gFill.Count(20), 25, 20);
   };
   Collection<reco::GenJet>("recoGenJets", "slimmedGenJets", kSplit, 9, generated);
   Collection<reco::GenJet>("recoGenJets", "slimmedGenJetsAK8", kUnsplit, 1.5f, generated);
   Collection<reco::GenJet>("recoGenJets", "slimmedGenJetsAK8SoftDropSubJets", kUnsplit, 2, generated);
   Collection<reco::JetTagInfo>("recoJetTagInfos", "pfInclusiveTagInfos", kUnsplit, 3,
                                [](auto &info) { gFill.TagInfo(info); });
   for (const char *label : {"slimmedMETs", "slimmedMETsPuppi", "slimmedMETsNoHF", "slimmedMETsDeepResponse"})
      Product<std::vector<pat::MET>>("patMETs", label, kUnsplit, [](auto &items) {
         items.resize(1);
         gFill.Candidate(items[0], gFill.Exponential(40));
         items[0].sumEt_ = 500 + gFill.Gauss(200);
         for (auto &x : items[0].significance_)
            x = gFill.Gauss(30);
         items[0].uncertainties_.resize(14);
         for (auto &x : items[0].uncertainties_)
            x = {gFill.Exponential(40), 0, gFill.Gauss(1), 0};
      });
}

void Leptons()
{
   auto muon = [](auto &item) {
      gFill.Lepton(item);
      item.selectors_ = gFill.Below(256) * 3;
      item.segmentCompatibility_ = gFill.Uniform();
      item.matches_ = gFill.Below(5);
   };
   Collection<pat::Muon>("patMuons", "slimmedMuons", kUnsplit, 2, muon);
   Collection<pat::Muon>("patMuons", "slimmedDisplacedMuons", kUnsplit, .7f, muon);
   auto electron = [](auto &item) { gFill.Electron(item); };
   Collection<pat::Electron>("patElectrons", "slimmedElectrons", kUnsplit, 1.5f, electron);
   Collection<pat::Electron>("patElectrons", "slimmedLowPtElectrons", kUnsplit, 2.5f, electron);
   auto photon = [](auto &item) { gFill.Photon(item); };
   Collection<pat::Photon>("patPhotons", "slimmedPhotons", kUnsplit, 2, photon);
   Collection<pat::Photon>("patPhotons", "slimmedOOTPhotons", kUnsplit, .5f, photon);
   auto tau = [](auto &item) {
      gFill.Lepton(item);
      gFill.Pointers(item.signal_, gFill.Count(2), 41, 300);
      gFill.Pointers(item.isolation_, gFill.Count(6), 41, 150);
      item.decayMode_ = gFill.Below(11);
   };
   Collection<pat::Tau>("patTaus", "slimmedTaus", kUnsplit, 2, tau);
   Collection<pat::Tau>("patTaus", "slimmedTausBoosted", kUnsplit, .4f, tau);
   Collection<pat::IsolatedTrack>("patIsolatedTracks", "isolatedTracks", kUnsplit, 4, [](auto &item) {
      gFill.Candidate(item, 5 + gFill.Exponential(10));
      for (auto &x : item.isolations_)
         x = gFill.Chance(.4f) ? 0 : gFill.Exponential(1);
      item.dz_ = gFill.Gauss(1);
      item.dxy_ = gFill.Gauss(1);
      item.crossedEcal_.assign(6, 1);
   });
   Collection<reco::SoftLepton>("recoSoftLeptons", "softLeptons", kUnsplit, 3,
                                [](auto &item) { gFill.SoftLepton(item); });
   Product<edm::OwnVector<reco::Candidate>>("recoCandidatesOwned", "compositeDaughters", kUnsplit,
                                            [](auto &own) { gFill.Own(own); });
}

void TracksAndVertices()
{
   Collection<reco::Vertex>("recoVertexs", "offlineSlimmedPrimaryVertices", kSplit, 28,
                            [](auto &item) { gFill.Vertex(item, 30, 50, 0); });
   Collection<reco::Vertex>("recoVertexs", "slimmedSecondaryVertices", kUnsplit, 2,
                            [](auto &item) { gFill.Vertex(item, 3, 3, 3); });
   for (const char *label : {"slimmedKshortVertices", "slimmedLambdaVertices"})
      Collection<reco::Vertex>("recoVertexCompositePtrCandidates", label, kUnsplit, .6f,
                               [](auto &item) { gFill.Vertex(item, 3, 1, 0); });
   auto track = [](auto &item) { gFill.Track(item); };
   Collection<reco::Track>("recoTracks", "displacedStandAloneMuons", kUnsplit, .6f, track);
   Collection<reco::Track>("recoTracks", "displacedGlobalMuons", kUnsplit, .2f, track);
   Collection<reco::Track>("recoTracks", "generalTracksReduced", kSplit, 12, track);
   for (const char *instance : {"reducedConversions", "reducedSingleLegConversions"})
      Collection<reco::Conversion>("recoConversions", "reducedEgamma", kUnsplit, .6f, [](auto &item) {
         item.tracks_.resize(2);
         for (auto &each : item.tracks_)
            gFill.Track(each);
         item.closestHits_ = {gFill.Uniform(), gFill.Uniform()};
         item.mva_ = gFill.Uniform();
      }, instance);
}

void Calorimeters()
{
   auto cluster = [](auto &item) { gFill.Cluster(item); };
   Collection<reco::CaloCluster>("recoCaloClusters", "reducedEgamma", kSplit, 6, cluster, "reducedEBEEClusters");
   for (const char *instance : {"reducedEBClusters", "reducedESClusters", "reducedOOTEBEEClusters"})
      Collection<reco::CaloCluster>("recoCaloClusters", "reducedEgamma", kUnsplit, 2, cluster, instance);
   auto ecal = [](EcalRecHit &hit, unsigned id) {
      hit = {id, gFill.Exponential(1), gFill.Cut(gFill.Gauss(1)), 1};
   };
   for (auto [instance, mean] : {std::pair{"reducedEBRecHits", 60}, {"reducedEERecHits", 35}, {"reducedESRecHits", 30}})
      Product<std::vector<EcalRecHit>>("EcalRecHitsSorted", "reducedEgamma", kSplit, [mean = mean, ecal](auto &hits) {
         unsigned id = 838860800u;
         gFill.Resize(hits, mean);
         for (auto &hit : hits)
            ecal(hit, id += 1 + gFill.Below(500));
      }, instance);
   Product<std::vector<std::vector<EcalRecHit>>>("EcalRecHitsss", "hitsByCluster", kUnsplit, [ecal](auto &clusters) {
      gFill.Resize(clusters, 2);
      for (auto &hits : clusters) {
         gFill.Resize(hits, 4);
         for (auto &hit : hits)
            ecal(hit, 838860800u + gFill.Below(60000));
      }
   });
   for (auto [label, mean] : {std::pair{"reducedHBHEHits", 25}, {"slimmedHBHERecHits", 40}})
      Product<std::vector<HBHERecHit>>("HBHERecHitsSorted", label, kUnsplit, [mean = mean](auto &hits) {
         unsigned id = 1157650000u;
         gFill.Resize(hits, mean);
         for (auto &hit : hits)
            hit = {id += 1 + gFill.Below(50), gFill.Exponential(1), gFill.Cut(gFill.Gauss(1)), gFill.Exponential(10), 0,
                   unsigned(gFill.Below(256))};
      });
}

void Trigger()
{
   Collection<pat::TriggerObjectStandAlone>(
      "patTriggerObjectStandAlones", "slimmedPatTrigger", kSplit, 35, [](auto &item) {
         gFill.Candidate(item, 10 + gFill.Exponential(20));
         item.collection_ = gFill.Chance(.5f) ? "hltIterL3MuonCandidates::HLT" : "hltEgammaCandidates::HLT";
         item.triggerObjectTypes_.assign(1, 80 + gFill.Below(8));
         gFill.Resize(item.filterLabelIndices_, 5);
         for (auto &index : item.filterLabelIndices_)
            index = gFill.Below(900);
         gFill.Resize(item.pathIndices_, 3);
         for (auto &index : item.pathIndices_)
            index = gFill.Below(600);
         item.pathLastFilterAccepted_.assign(item.pathIndices_.size(), gFill.Chance(.5f));
      });
   for (const char *process : {"HLT", "RECO", "PAT"}) {
      const int paths = process[0] == 'H' ? 650 : 40;
      Product<edm::TriggerResults>("edmTriggerResults", "TriggerResults", kUnsplit, [paths](auto &results) {
         results.paths_.resize(paths);
         for (auto &path : results.paths_)
            path = gFill.Chance(.05f) ? 1 : 256 + int(gFill.Uniform() * gFill.Uniform() * 60);
         results.psetid_.hash_ = "0123456789abcdef";
      }, "", process);
   }
   Product<L1Report>("L1Report", "gtStage2", kUnsplit, [](auto &report) { gFill.L1(report); }, "", "RECO");
   Product<DetectorStatus>("DetectorStatus", "dcsStatus", kUnsplit, [](auto &status) { gFill.Status(status); });
}

void Generator()
{
   Product<std::vector<PileupSummaryInfo>>("PileupSummaryInfos", "slimmedAddPileupInfo", kUnsplit, [](auto &infos) {
      infos.resize(3);
      int crossing = -1;
      for (auto &info : infos) {
         info.bunchCrossing_ = crossing++;
         info.number_ = gFill.Count(35);
         info.z_.resize(info.number_);
         for (auto &z : info.z_)
            z = gFill.Gauss(4);
         info.sumPtHigh_.resize(info.number_);
         for (auto &sum : info.sumPtHigh_)
            sum = gFill.Cut(gFill.Exponential(20), 10);
         info.trueNumber_ = 35;
      }
   });
   Product<GenEventInfoProduct>("GenEventInfoProduct", "generator", kUnsplit, [](auto &info) {
      info.weights_.resize(46);
      for (auto &weight : info.weights_)
         weight = 1 + gFill.Gauss(.1f);
      info.qScale_ = gFill.Exponential(100);
      info.alphaQCD_ = .118;
      info.alphaQED_ = .0077;
      info.pdf_ = {gFill.Uniform(), gFill.Uniform(), 91};
   }, "", "SIM");
   Product<LHEEventProduct>("LHEEventProduct", "externalLHEProducer", kUnsplit, [](auto &event) {
      event.weights_.resize(200);
      int id = 1001;
      for (auto &weight : event.weights_)
         weight = {std::to_string(id++), 50 * (1 + gFill.Gauss(.05f))};
      event.originalWeight_ = 50;
      event.IDUP = {21, 21, 6, -6, 5};
      event.ISTUP = {-1, -1, 1, 1, 1};
      event.PUP.assign(5, {gFill.Gauss(50), gFill.Gauss(50), gFill.Gauss(200), gFill.Exponential(300), 0});
   }, "", "LHE");
   Product<std::map<std::string, std::vector<double>>>("doublesByName", "partonShowerWeights", kUnsplit, [](auto &weights) {
      weights.clear();
      for (int i = gFill.Below(5); i > 0; i--)
         weights["variation" + std::to_string(i)].assign(gFill.Below(6), 1 + gFill.Gauss(.1f));
   });
}

// Small products, which are very frequent in a file.
void SmallProducts()
{
   Product<BeamSpot>("recoBeamSpot", "offlineBeamSpot", kUnsplit, [](auto &spot) {
      spot.position_ = {{.01f, .04f, .1f}};
      spot.sigmaZ_ = 3.5;
      spot.type_ = 2;
   });
   for (const char *region : {"All", "FastjetAll", "FastjetAllCalo", "FastjetCentral", "FastjetCentralCalo",
                              "FastjetCentralChargedPileUp", "FastjetCentralNeutral", "AllTracker"})
      Product<double>("double", std::string("fixedGridRho") + region, kUnsplit,
                      [](auto &rho) { rho = 20 + gFill.Gauss(5); }, "", "RECO");
   for (int i = 0; i < 14; i++)
      Product<edm::ValueMap<float>>("floatedmValueMap", "userMap" + std::to_string(i), kUnsplit, [i](auto &map) {
         gFill.Resize(map.values_, i % 3 == 0 ? 28 : i % 3 == 1 ? 4 : 10);
         for (auto &value : map.values_)
            value = gFill.Cut(gFill.Gauss(1), 14);
         map.offsets_.assign(1, {edm::ProductID{1, 29}, 0u});
      });
   for (int i = 0; i < 6; i++)
      Product<edm::ValueMap<int>>("intedmValueMap", "qualityMap" + std::to_string(i), kUnsplit, [](auto &map) {
         gFill.Resize(map.values_, 20);
         for (auto &value : map.values_)
            value = gFill.Below(6);
         map.offsets_.assign(1, {edm::ProductID{1, 29}, 0u});
      });
   for (int i = 0; i < 10; i++)
      Product<std::vector<float>>("floats", "slimmedFloats" + std::to_string(i), kUnsplit, [i](auto &values) {
         gFill.Resize(values, i);
         for (auto &value : values)
            value = gFill.Cut(gFill.Gauss(1), 14);
      });
   for (int i = 0; i < 10; i++)
      Product<int>("int", "egmFlag" + std::to_string(i), kUnsplit, [](auto &flag) { flag = gFill.Below(3); }, "", "RECO");
   for (int i = 0; i < 4; i++)
      Product<std::vector<std::string>>("Strings", "names" + std::to_string(i), kUnsplit,
                                        [](auto &names) { names = {"hltL3MuonCandidates", "hltEgamma"}; });
}

void Products()
{
   Candidates();
   Jets();
   Leptons();
   TracksAndVertices();
   Calorimeters();
   Trigger();
   Generator();
   SmallProducts();
}
} // namespace

int main(int argc, char **argv)
{
   if (argc < 4) {
      std::fprintf(stderr, "usage: edm OUT.root COMPRESSION EVENTS [SPLIT LEVEL OF ALL]\n");
      return 2;
   }
   if (argc > 4)
      gSplitAll = std::atoi(argv[4]);
   WriteFile(argv[1], std::atoi(argv[2]), std::atol(argv[3]), Products);
   return 0;
}
