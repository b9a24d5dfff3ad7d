// The classes of tiers.h and edm.h that get a dictionary.
#ifdef __CLING__
#include "edm_linkdef.h"
#pragma link C++ class FEDRawData+;
#pragma link C++ class PSimHit+;
#pragma link C++ class PCaloHit+;
#pragma link C++ class SimTrack+;
#pragma link C++ class SimVertex+;
#pragma link C++ class TrackerCluster+;
#pragma link C++ class TrackerHit+;
#pragma link C++ class reco::PFCandidate+;
#pragma link C++ class reco::PFJet+;
#pragma link C++ class std::vector<reco::LeafCandidate>+;
#pragma link C++ class std::vector<FEDRawData>+;
#pragma link C++ class std::vector<PSimHit>+;
#pragma link C++ class std::vector<PCaloHit>+;
#pragma link C++ class std::vector<SimTrack>+;
#pragma link C++ class std::vector<SimVertex>+;
#pragma link C++ class std::vector<TrackerCluster>+;
#pragma link C++ class std::vector<TrackerHit>+;
#pragma link C++ class std::vector<reco::PFCandidate>+;
#pragma link C++ class std::vector<reco::PFJet>+;
#pragma link C++ class edm::Wrapper<std::vector<reco::LeafCandidate>>+;
#pragma link C++ class edm::Wrapper<std::vector<FEDRawData>>+;
#pragma link C++ class edm::Wrapper<std::vector<PSimHit>>+;
#pragma link C++ class edm::Wrapper<std::vector<PCaloHit>>+;
#pragma link C++ class edm::Wrapper<std::vector<SimTrack>>+;
#pragma link C++ class edm::Wrapper<std::vector<SimVertex>>+;
#pragma link C++ class edm::Wrapper<std::vector<TrackerCluster>>+;
#pragma link C++ class edm::Wrapper<std::vector<TrackerHit>>+;
#pragma link C++ class edm::Wrapper<std::vector<reco::PFCandidate>>+;
#pragma link C++ class edm::Wrapper<std::vector<reco::PFJet>>+;
#endif
