// Classes like those of CMS in RAW, GEN-SIM, RECO and AOD, beside those of edm.h.
#pragma once
#include "edm.h"

// What one front-end driver sends of an event: a header, words of its detector, and a trailer.
struct FEDRawData {
   std::vector<unsigned char> data_;
};

struct PSimHit {
   math::Point entry_, exit_;
   float momentum_ = 0, energyLoss_ = 0, timeOfFlight_ = 0, theta_ = 0, phi_ = 0;
   std::uint16_t process_ = 0;
   int particle_ = 0;
   std::uint32_t detector_ = 0, track_ = 0;
};
struct PCaloHit {
   std::uint32_t id_ = 0;
   float energy_ = 0, electromagnetic_ = 0, time_ = 0;
   int track_ = 0;
   std::uint16_t depth_ = 0;
};
struct SimTrack {
   std::uint32_t id_ = 0, event_ = 0;
   int type_ = 0, vertex_ = 0, generator_ = 0;
   math::PtEtaPhiM momentum_;
   math::Point atCalorimeter_;
};
struct SimVertex {
   std::uint32_t id_ = 0, event_ = 0;
   math::Point position_;
   float time_ = 0;
   int parent_ = 0;
   std::uint32_t process_ = 0;
};

struct TrackerCluster {
   std::uint32_t detector_ = 0;
   std::uint16_t first_ = 0;
   std::vector<std::uint8_t> amplitudes_;
   float charge_ = 0;
};
struct TrackerHit {
   std::uint32_t detector_ = 0;
   math::Point position_;
   float errors_[3] = {};
   edm::Ref<int> cluster_;
};

namespace reco {
struct PFCandidate : public LeafCandidate {
   edm::Ref<Track> track_;
   std::vector<edm::Ptr> blocks_;
   float ecal_ = 0, hcal_ = 0, rawEcal_ = 0, rawHcal_ = 0, preshower_ = 0, mva_[4] = {};
   std::uint32_t flags_ = 0;
};
struct PFJet : public LeafCandidate {
   float area_ = 0, pileup_ = 0, energies_[6] = {};
   int multiplicities_[6] = {};
   std::vector<edm::Ptr> constituents_;
};
} // namespace reco
