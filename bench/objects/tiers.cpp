// Writes a file like those of CMS's other data tiers: tiers OUT.root COMPRESSION EVENTS raw|gensim|reco|aod
// raw: 10 products of blobs, unsplit, 300 kB an event; gensim: hits of the simulation and generated particles, unsplit; reco:
// under 300 products, at split level 1, 1 MB an event; aod: those without the hits of tracker and calorimeters, fully split.
#include "events.h"
#include "tiers.h"

namespace {
// Words of one driver: channels that follow each other, with amplitudes of a falling spectrum, some of them repeated.
void Blob(FEDRawData &fed, int source, int bytes)
{
   fed.data_.clear();
   auto add = [&fed](std::uint64_t value, int size) {
      for (; size > 0; size--, value >>= 8)
         fed.data_.push_back(value & 0xff);
   };
   add(0x5000000000000008ull | std::uint64_t(source) << 8 | std::uint64_t(gFill.Below(3564)) << 20, 8);
   unsigned channel = gFill.Below(16);
   while (int(fed.data_.size()) < bytes) {
      channel = (channel + 1 + gFill.Below(gFill.Chance(.7f) ? 2 : 60)) & 0xfff;
      const unsigned amplitude = std::min(255.f, 8 + gFill.Exponential(14));
      add(channel | 0x4000u, 2);
      add(amplitude, 1);
      add(gFill.Chance(.6f) ? 2 : gFill.Below(8), 1);
   }
   add(0xa000000000000000ull | fed.data_.size() << 29 | std::uint64_t(gFill.Below(65536)) << 16, 8);
}

void Raw()
{
   gProcess = "LHC";
   struct Detector {
      const char *fName;
      int fDrivers, fBytes, fFirst;
   };
   static const Detector detectors[] = {{"pixel", 56, 1000, 1200},      {"strips", 220, 380, 50},   {"ecal", 54, 900, 600},
                                        {"preshower", 40, 250, 520},    {"hcal", 34, 1300, 1100},   {"muonBarrel", 10, 900, 770},
                                        {"muonEndcap", 36, 350, 831},   {"muonPlates", 8, 400, 790}, {"trigger", 14, 700, 1354},
                                        {"proton", 6, 600, 578}};
   for (const auto &detector : detectors)
      Product<std::vector<FEDRawData>>("FEDRawDataCollection", detector.fName, kUnsplit, [&detector](auto &drivers) {
         drivers.resize(detector.fDrivers);
         int source = detector.fFirst;
         for (auto &driver : drivers)
            Blob(driver, source++, int(detector.fBytes * (.4f + gFill.Exponential(.6f))));
      });
}

void GenSim()
{
   gProcess = "SIM";
   auto detector = [](int base) { return unsigned(base + gFill.Below(900) * 4); };
   // The hits of a track follow each other, and so do its numbers.
   for (auto [label, mean] : {std::pair{"TrackerHitsPixelBarrelLowTof", 420}, {"TrackerHitsPixelBarrelHighTof", 60},
                              {"TrackerHitsPixelEndcapLowTof", 260}, {"TrackerHitsPixelEndcapHighTof", 40},
                              {"TrackerHitsTIBLowTof", 700}, {"TrackerHitsTIBHighTof", 110}, {"TrackerHitsTIDLowTof", 400},
                              {"TrackerHitsTIDHighTof", 60}, {"TrackerHitsTOBLowTof", 900}, {"TrackerHitsTOBHighTof", 380},
                              {"TrackerHitsTECLowTof", 1100}, {"TrackerHitsTECHighTof", 240}, {"MuonDTHits", 60},
                              {"MuonCSCHits", 90}, {"MuonRPCHits", 50}, {"TotemHitsRP", 8}})
      Product<std::vector<PSimHit>>("PSimHits", "g4SimHits", kUnsplit, [mean = mean, detector](auto &hits) {
         gFill.Resize(hits, mean);
         unsigned track = 1;
         for (auto &hit : hits) {
            track += gFill.Chance(.3f) ? 1 + gFill.Below(6) : 0;
            hit.entry_ = gFill.Somewhere(1.5f, .01f);
            hit.exit_ = {{hit.entry_.fCoordinates.fX + gFill.Cut(gFill.Gauss(.02f), 10),
                          hit.entry_.fCoordinates.fY + gFill.Cut(gFill.Gauss(.02f), 10), -hit.entry_.fCoordinates.fZ}};
            hit.momentum_ = gFill.Exponential(1);
            hit.energyLoss_ = gFill.Exponential(1e-4f);
            hit.timeOfFlight_ = 1 + gFill.Exponential(4);
            hit.theta_ = gFill.Uniform() * 3.14f;
            hit.phi_ = (gFill.Uniform() - .5f) * 6.28f;
            hit.process_ = gFill.Chance(.8f) ? 2 : gFill.Below(14);
            hit.particle_ = gFill.Chance(.7f) ? (gFill.Chance(.5f) ? 211 : -211) : 11;
            hit.detector_ = detector(302055684);
            hit.track_ = track;
         }
      }, label);
   for (auto [label, mean] : {std::pair{"EcalHitsEB", 3200}, {"EcalHitsEE", 2600}, {"EcalHitsES", 900}, {"HcalHits", 2400},
                              {"CaloHitsTk", 700}, {"CastorFI", 30}, {"ZDCHITS", 20}})
      Product<std::vector<PCaloHit>>("PCaloHits", "g4SimHits", kUnsplit, [mean = mean, detector](auto &hits) {
         gFill.Resize(hits, mean);
         int track = 1;
         for (auto &hit : hits) {
            track += gFill.Chance(.2f) ? 1 + gFill.Below(4) : 0;
            hit = {detector(838860800), gFill.Exponential(.01f), gFill.Chance(.5f) ? 0 : gFill.Exponential(.01f),
                   6 + gFill.Exponential(5), track, std::uint16_t(gFill.Chance(.9f) ? 0 : 1)};
         }
      }, label);
   Product<std::vector<SimTrack>>("SimTracks", "g4SimHits", kUnsplit, [](auto &tracks) {
      gFill.Resize(tracks, 700);
      unsigned id = 1;
      for (auto &track : tracks) {
         track = {id += 1 + gFill.Below(8), 0, gFill.Chance(.5f) ? 22 : 211, gFill.Below(400),
                  gFill.Chance(.6f) ? -1 : gFill.Below(300)};
         track.momentum_ = {gFill.Exponential(2), gFill.Gauss(2), (gFill.Uniform() - .5f) * 6.28f, .1396f};
         track.atCalorimeter_ = gFill.Chance(.5f) ? math::Point() : gFill.Somewhere(100, 150);
      }
   });
   Product<std::vector<SimVertex>>("SimVertexs", "g4SimHits", kUnsplit, [](auto &vertices) {
      gFill.Resize(vertices, 400);
      unsigned id = 0;
      for (auto &vertex : vertices)
         vertex = {id++, 0, gFill.Somewhere(50, 100), gFill.Exponential(3), gFill.Below(700), unsigned(gFill.Below(4) * 50 + 1)};
   });
   auto generated = [](auto &particle) {
      gFill.Candidate(particle, gFill.Exponential(4));
      particle.mothers_.assign(1, gFill.Below(1200));
      particle.daughters_.assign(gFill.Below(3), gFill.Below(1200));
      particle.statusFlags_ = gFill.Below(16) * 257;
   };
   Collection<reco::GenParticle>("recoGenParticles", "genParticles", kUnsplit, 1300, generated);
   for (const char *label : {"ak4GenJets", "ak4GenJetsNoNu", "ak8GenJets", "ak8GenJetsNoNu"})
      Collection<reco::GenJet>("recoGenJets", label, kUnsplit, 15, [](auto &jet) {
         gFill.Candidate(jet, 5 + gFill.Exponential(30));
         jet.emEnergy_ = gFill.Exponential(10);
         jet.hadEnergy_ = gFill.Exponential(20);
         gFill.Pointers(jet.daughters_, gFill.Count(20), 25, 20);
      });
   for (const char *label : {"genMetTrue", "genMetCalo"})
      Collection<reco::LeafCandidate>("recoGenMETs", label, kUnsplit, 1, [](auto &met) { gFill.Candidate(met, 30); });
   Product<GenEventInfoProduct>("GenEventInfoProduct", "generator", kUnsplit, [](auto &info) {
      info.weights_.assign(46, 1);
      info.qScale_ = gFill.Exponential(100);
      info.pdf_ = {gFill.Uniform(), gFill.Uniform(), 91};
   });
   Product<LHEEventProduct>("LHEEventProduct", "externalLHEProducer", kUnsplit, [](auto &event) {
      event.weights_.resize(200);
      int id = 1001;
      for (auto &weight : event.weights_)
         weight = {std::to_string(id++), 50 * (1 + gFill.Gauss(.05f))};
      event.IDUP = {21, 21, 6, -6, 5};
      event.PUP.assign(5, {gFill.Gauss(50), gFill.Gauss(50), gFill.Gauss(200), gFill.Exponential(300), 0});
   });
}

// The products that RECO and AOD share.
void Reconstructed(float scale)
{
   gProcess = "RECO";
   using std::to_string;
   auto track = [](auto &item) { gFill.Track(item); };
   auto cluster = [](auto &item) { gFill.Cluster(item); };
   for (auto [label, mean] : {std::pair{"generalTracks", 550}, {"globalMuons", 3}, {"standAloneMuons", 4},
                              {"electronGsfTracks", 12}, {"conversionTracks", 20}, {"tevMuons", 3},
                              {"displacedTracks", 15}, {"cosmicMuons", 1}})
      Collection<reco::Track>("recoTracks", label, kUnsplit, mean * scale, track);
   for (auto [label, mean] : {std::pair{"particleFlow", 900.f}, {"particleFlowTmp", 250}, {"pfIsolated", 40}, {"pfPileUp", 90}})
      Collection<reco::PFCandidate>("recoPFCandidates", label, kUnsplit, mean * scale, [](auto &item) {
         gFill.Candidate(item, .3f + gFill.Exponential(1.5f));
         item.track_.id_ = {1, 33};
         item.track_.index_ = gFill.Below(550);
         gFill.Pointers(item.blocks_, 1 + gFill.Below(3), 41, 300);
         item.ecal_ = gFill.Chance(.4f) ? 0 : gFill.Cut(gFill.Exponential(2));
         item.hcal_ = gFill.Chance(.7f) ? 0 : gFill.Cut(gFill.Exponential(2));
         item.rawEcal_ = item.ecal_;
         item.rawHcal_ = item.hcal_;
         item.flags_ = gFill.Below(8);
      });
   for (const char *label : {"ak4PFJets", "ak4PFJetsCHS", "ak4PFJetsPuppi", "ak8PFJets", "ak8PFJetsPuppi", "ak4CaloJets",
                             "ak4TrackJets"})
      Collection<reco::PFJet>("recoPFJets", label, kUnsplit, 18, [](auto &jet) {
         gFill.Candidate(jet, 5 + gFill.Exponential(30));
         jet.area_ = gFill.Cut(.5f + gFill.Gauss(.02f), 10);
         for (float &energy : jet.energies_)
            energy = gFill.Chance(.4f) ? 0 : gFill.Cut(gFill.Exponential(15));
         for (int &multiplicity : jet.multiplicities_)
            multiplicity = gFill.Below(12);
         gFill.Pointers(jet.constituents_, gFill.Count(18), 41, 30);
      });
   for (auto [label, mean] : {std::pair{"offlinePrimaryVertices", 28}, {"offlinePrimaryVerticesWithBS", 28},
                              {"inclusiveSecondaryVertices", 3}, {"generalV0Kshort", 4}, {"generalV0Lambda", 3}})
      Collection<reco::Vertex>("recoVertexs", label, kUnsplit, mean, [](auto &item) { gFill.Vertex(item, 30, 50, 18); });
   for (const char *label : {"particleFlowSuperClusterBarrel", "particleFlowSuperClusterEndcap", "hybridSuperClusters",
                             "multi5x5Clusters", "particleFlowEGamma", "particleFlowClusterHCAL", "particleFlowClusterHO",
                             "particleFlowClusterPS"})
      Collection<reco::CaloCluster>("recoCaloClusters", label, kUnsplit, 25 * scale, cluster);
   Collection<pat::Electron>("recoGsfElectrons", "gedGsfElectrons", kUnsplit, 3, [](auto &item) { gFill.Electron(item); });
   Collection<pat::Photon>("recoPhotons", "gedPhotons", kUnsplit, 5, [](auto &item) { gFill.Photon(item); });
   for (const char *label : {"muons", "muonsFromCosmics", "displacedMuons"})
      Collection<pat::Muon>("recoMuons", label, kUnsplit, 6, [](auto &item) {
         gFill.Lepton(item);
         item.selectors_ = gFill.Below(256) * 3;
      });
   for (const char *label : {"hpsPFTauProducer", "combinatoricRecoTaus", "boostedTaus"})
      Collection<pat::Tau>("recoPFTaus", label, kUnsplit, 8, [](auto &item) {
         gFill.Lepton(item);
         gFill.Pointers(item.signal_, gFill.Count(2), 41, 300);
         gFill.Pointers(item.isolation_, gFill.Count(6), 41, 150);
      });
   for (const char *label : {"allConversions", "particleFlowConversions"})
      Collection<reco::Conversion>("recoConversions", label, kUnsplit, 12, [](auto &item) {
         item.tracks_.resize(2);
         for (auto &each : item.tracks_)
            gFill.Track(each);
         item.closestHits_ = {gFill.Uniform(), gFill.Uniform()};
      });
   for (int i = 0; i < 24; i++)
      Collection<reco::LeafCandidate>("recoCandidates", "candidates" + to_string(i), kUnsplit, 1 + i % 6,
                                      [](auto &item) { gFill.Candidate(item, 5 + gFill.Exponential(20)); });
   for (int i = 0; i < 70; i++)
      Product<edm::ValueMap<float>>("floatedmValueMap", "map" + to_string(i), kUnsplit, [i](auto &map) {
         gFill.Resize(map.values_, i % 10 == 0 ? 200 : 8);
         for (auto &value : map.values_)
            value = gFill.Chance(.3f) ? 0 : gFill.Cut(gFill.Gauss(1), 14);
         map.offsets_.assign(1, {edm::ProductID{1, 29}, 0u});
      });
   for (int i = 0; i < 40; i++)
      Product<std::vector<float>>("floats", "jetTags" + to_string(i), kUnsplit, [](auto &values) {
         gFill.Resize(values, 18);
         for (auto &value : values)
            value = gFill.Cut(gFill.Uniform(), 14);
      });
   for (int i = 0; i < 30; i++)
      Product<edm::ValueMap<int>>("intedmValueMap", "quality" + to_string(i), kUnsplit, [](auto &map) {
         gFill.Resize(map.values_, 20);
         for (auto &value : map.values_)
            value = gFill.Below(6);
         map.offsets_.assign(1, {edm::ProductID{1, 29}, 0u});
      });
   for (const char *region : {"All", "FastjetAll", "FastjetAllCalo", "FastjetCentral", "FastjetCentralCalo"})
      Product<double>("double", std::string("fixedGridRho") + region, kUnsplit, [](auto &rho) { rho = 20 + gFill.Gauss(5); });
   Product<BeamSpot>("recoBeamSpot", "offlineBeamSpot", kUnsplit, [](auto &spot) { spot.position_ = {{.01f, .04f, .1f}}; });
   Product<edm::TriggerResults>("edmTriggerResults", "TriggerResults", kUnsplit, [](auto &results) {
      results.paths_.resize(650);
      for (auto &path : results.paths_)
         path = gFill.Chance(.05f) ? 1 : 256 + int(gFill.Uniform() * gFill.Uniform() * 60);
      results.psetid_.hash_ = "0123456789abcdef";
   });
}

void Aod() { Reconstructed(1); }

// What AOD has, and the hits of all detectors.
void Reco()
{
   Reconstructed(1.4f);
   for (auto [label, mean] : {std::pair{"siPixelClusters", 1500}, {"siStripClusters", 3500}})
      Product<std::vector<TrackerCluster>>("TrackerClusters", label, kUnsplit, [mean = mean](auto &clusters) {
         gFill.Resize(clusters, mean);
         unsigned detector = 302055684;
         for (auto &cluster : clusters) {
            cluster.detector_ = detector += gFill.Chance(.6f) ? 0 : 4 * gFill.Below(9);
            cluster.first_ = gFill.Below(768);
            cluster.amplitudes_.resize(1 + gFill.Below(5));
            for (auto &amplitude : cluster.amplitudes_)
               amplitude = std::min(255.f, 8 + gFill.Exponential(40));
            cluster.charge_ = gFill.Exponential(60);
         }
      });
   for (auto [label, mean] : {std::pair{"generalTracks", 5500}, {"electronGsfTracks", 150}, {"globalMuons", 60}})
      Product<std::vector<TrackerHit>>("TrackingRecHitsOwned", label, kUnsplit, [mean = mean](auto &hits) {
         gFill.Resize(hits, mean);
         for (auto &hit : hits) {
            hit.detector_ = 302055684 + 4 * gFill.Below(9000);
            hit.position_ = gFill.Somewhere(1.5f, 3);
            for (float &error : hit.errors_)
               error = gFill.Cut(gFill.Exponential(1e-4f), 10);
            hit.cluster_.id_ = {1, 52};
            hit.cluster_.index_ = gFill.Below(5000);
         }
      });
   for (auto [label, mean] : {std::pair{"EcalRecHitsEB", 2500}, {"EcalRecHitsEE", 2000}, {"EcalRecHitsES", 800}})
      Product<std::vector<EcalRecHit>>("EcalRecHitsSorted", label, kUnsplit, [mean = mean](auto &hits) {
         gFill.Resize(hits, mean);
         unsigned id = 838860800;
         for (auto &hit : hits)
            hit = {id += 1 + gFill.Below(25), gFill.Exponential(.5f), gFill.Cut(gFill.Gauss(1)), 1};
      });
   for (auto [label, mean] : {std::pair{"hbhereco", 2200}, {"horeco", 500}, {"hfreco", 700}})
      Product<std::vector<HBHERecHit>>("HBHERecHitsSorted", label, kUnsplit, [mean = mean](auto &hits) {
         gFill.Resize(hits, mean);
         unsigned id = 1157650000;
         for (auto &hit : hits)
            hit = {id += 1 + gFill.Below(5), gFill.Exponential(1), gFill.Cut(gFill.Gauss(1)), gFill.Exponential(10), 0,
                   unsigned(gFill.Below(256))};
      });
   for (int i = 0; i < 40; i++)
      Collection<reco::LeafCandidate>("recoTrackJets", "regional" + std::to_string(i), kUnsplit, 4,
                                      [](auto &item) { gFill.Candidate(item, 2 + gFill.Exponential(5)); });
}
} // namespace

int main(int argc, char **argv)
{
   static const std::map<std::string, std::pair<int, void (*)()>> tiers = {
      {"raw", {1, Raw}}, {"gensim", {1, GenSim}}, {"reco", {1, Reco}}, {"aod", {99, Aod}}};
   const auto tier = argc > 4 ? tiers.find(argv[4]) : tiers.end();
   if (tier == tiers.end()) {
      std::fprintf(stderr, "usage: tiers OUT.root COMPRESSION EVENTS raw|gensim|reco|aod\n");
      return 2;
   }
   gSplitAll = tier->second.first;
   WriteFile(argv[1], std::atoi(argv[2]), std::atol(argv[3]), tier->second.second);
   return 0;
}
