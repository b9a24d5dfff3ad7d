// Classes like those of MiniAOD in CMS: similar in structure, but not the same.
// Bases, nested vectors, strings, maps, owned pointers to derived classes, variable arrays, Double32_t.
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Rtypes.h>
#include <TObject.h>
#include <TString.h>

namespace edm {
struct ProductID {
   std::uint16_t processIndex_ = 0, productIndex_ = 0;
};
struct Hash {
   std::string hash_;
};
struct EventID {
   std::uint32_t run_ = 0, luminosityBlock_ = 0;
   ULong64_t event_ = 0;
};
struct Timestamp {
   std::uint32_t timeLow_ = 0, timeHigh_ = 0;
};
struct EventAuxiliary {
   Hash processHistoryID_;
   EventID id_;
   std::string processGUID_;
   Timestamp time_;
   std::uint32_t luminosityBlock_ = 0;
   bool isRealData_ = false;
   int experimentType_ = 0, bunchCrossing_ = 0, orbitNumber_ = 0, storeNumber_ = 0;
};
struct LuminosityBlockAuxiliary {
   Hash processHistoryID_;
   std::uint32_t run_ = 0, lumi_ = 0;
   Timestamp begin_, end_;
};
struct RunAuxiliary {
   Hash processHistoryID_;
   std::uint32_t run_ = 0;
   Timestamp begin_, end_;
};
struct StoredProductProvenance {
   std::uint32_t branchID_ = 0, parentageIDIndex_ = 0;
};
struct FileFormatVersion {
   int value_ = 0;
};
template <class T>
struct Ref {
   ProductID id_;
   std::uint32_t index_ = 0;
};
struct Ptr {
   ProductID id_;
   std::uint32_t key_ = 0;
};
template <class T>
struct ValueMap {
   std::vector<T> values_;
   std::vector<std::pair<ProductID, std::uint32_t>> offsets_;
};
// Owns objects of classes derived from T.
template <class T>
struct OwnVector {
   std::vector<T *> data_;
   ~OwnVector() { Clear(); }
   void Clear()
   {
      for (T *item : data_)
         delete item;
      data_.clear();
   }
};
struct TriggerResults {
   std::vector<std::uint16_t> paths_;
   std::vector<std::string> pathNames_;
   Hash psetid_;
};
// Without the empty base class of CMS, because uproot fails at it for every product.
template <class T>
struct Wrapper {
   bool present = true;
   T obj;
};
} // namespace edm

namespace math {
struct PtEtaPhiM {
   float fPt = 0, fEta = 0, fPhi = 0, fM = 0;
};
struct Cartesian {
   float fX = 0, fY = 0, fZ = 0;
};
struct Point {
   Cartesian fCoordinates;
};
} // namespace math

namespace reco {
struct Candidate {
   virtual ~Candidate() {}
};
struct LeafCandidate : public Candidate {
   int qx3_ = 0;
   float pt_ = 0, eta_ = 0, phi_ = 0, mass_ = 0;
   math::Point vertex_;
   int pdgId_ = 0, status_ = 0;
};
struct GenParticle : public LeafCandidate {
   int collisionId_ = 0;
   std::vector<std::uint32_t> mothers_, daughters_;
   std::uint16_t statusFlags_ = 0;
};
struct TrackBase {
   float covariance_[15] = {};
   math::Point vertex_, momentum_;
   float t0_ = 0, beta_ = 0, chi2_ = 0, ndof_ = 0;
   std::uint8_t algorithm_ = 0, originalAlgorithm_ = 0, quality_ = 0;
   std::int8_t charge_ = 0;
   std::uint16_t hitPattern_[5] = {};
};
struct Track : public TrackBase {
   edm::Ref<int> extra_;
};
struct Vertex {
   float chi2_ = 0, ndof_ = 0;
   math::Point position_;
   float covariance_[10] = {};
   std::vector<edm::Ref<Track>> tracks_;
   std::vector<std::uint8_t> weights_;
   bool validity_ = true;
   double time_ = 0;
};
struct CaloCluster {
   float energy_ = 0, correctedEnergy_ = 0;
   math::Point position_;
   std::vector<std::pair<std::uint32_t, float>> hitsAndFractions_;
   std::uint8_t algoID_ = 0;
   std::uint32_t seedId_ = 0;
};
struct Conversion {
   std::vector<Track> tracks_;
   std::vector<float> closestHits_;
   float mva_ = 0;
   Vertex vertex_;
};
struct GenJet : public LeafCandidate {
   float emEnergy_ = 0, hadEnergy_ = 0, invisibleEnergy_ = 0, auxiliaryEnergy_ = 0;
   std::vector<edm::Ptr> daughters_;
};
struct JetTagInfo {
   enum Kind { kNone, kTrack = 3, kVertex = 7 };
   Kind kind_ = kNone;
   std::string label_;
   std::map<std::string, float> discriminators_;
   std::map<int, std::vector<double>> weights_;
   std::vector<std::vector<Track>> tracksByVertex_;
   Vertex *best_ = nullptr; // null if there is none
   JetTagInfo() = default;
   JetTagInfo(const JetTagInfo &other)
      : kind_(other.kind_),
        label_(other.label_),
        discriminators_(other.discriminators_),
        weights_(other.weights_),
        tracksByVertex_(other.tracksByVertex_),
        best_(other.best_ ? new Vertex(*other.best_) : nullptr)
   {
   }
   JetTagInfo &operator=(JetTagInfo other)
   {
      Swap(other);
      return *this;
   }
   ~JetTagInfo() { delete best_; }

private:
   void Swap(JetTagInfo &other)
   {
      std::swap(kind_, other.kind_);
      std::swap(best_, other.best_);
      label_.swap(other.label_);
      discriminators_.swap(other.discriminators_);
      weights_.swap(other.weights_);
      tracksByVertex_.swap(other.tracksByVertex_);
   }
};
struct SoftLepton {
   Double32_t ip_ = 0;    //[-10,10,16]
   Double32_t ratio_ = 0; //[0,0,12]
   Double32_t axis_[3] = {};
   Float16_t significance_ = 0;
   std::list<Double32_t> distances_;
};
} // namespace reco

namespace pat {
struct PackedCandidate : public reco::Candidate {
   std::uint16_t packedPt_ = 0;
   std::int16_t packedEta_ = 0, packedPhi_ = 0, packedM_ = 0, packedDxy_ = 0, packedDz_ = 0, packedDPhi_ = 0;
   std::uint8_t packedPuppiweight_ = 0;
   std::int8_t packedPuppiweightNoLepDiff_ = 0;
   std::uint8_t rawCaloFraction_ = 0, hcalFraction_ = 0;
   int pdgId_ = 0;
   std::uint16_t qualityFlags_ = 0;
   edm::Ref<reco::Vertex> pvRef_;
   std::uint8_t packedHits_ = 0, packedLayers_ = 0, normalizedChi2_ = 0;
   std::uint32_t covarianceVersion_ = 0;
};
struct PackedGenParticle : public reco::Candidate {
   std::uint16_t packedPt_ = 0;
   std::int16_t packedY_ = 0, packedPhi_ = 0, packedM_ = 0;
   int pdgId_ = 0;
   edm::Ref<reco::GenParticle> mother_;
   std::uint16_t flags_ = 0;
};
struct JetCorrFactors {
   std::vector<std::pair<std::string, std::vector<float>>> jec_;
   std::string label_;
};
struct UserData {
   std::vector<std::string> labels_;
   std::vector<float> floats_;
   std::vector<std::string> intLabels_;
   std::vector<int> ints_;
};
struct TriggerObjectStandAlone : public reco::LeafCandidate {
   std::string collection_;
   std::vector<int> triggerObjectTypes_;
   std::vector<std::string> filterLabels_;
   std::vector<std::uint16_t> filterLabelIndices_, pathIndices_;
   std::vector<bool> pathLastFilterAccepted_;
};
struct Jet : public reco::LeafCandidate {
   float jetArea_ = 0, pileup_ = 0;
   float mChargedHadronEnergy = 0, mNeutralHadronEnergy = 0, mPhotonEnergy = 0, mElectronEnergy = 0, mMuonEnergy = 0;
   int mChargedHadronMultiplicity = 0, mNeutralHadronMultiplicity = 0, mPhotonMultiplicity = 0;
   std::vector<edm::Ptr> daughters_;
   std::vector<std::pair<std::string, float>> pairDiscriVector_;
   std::vector<JetCorrFactors> jec_;
   UserData userData_;
   int partonFlavour_ = 0, hadronFlavour_ = 0;
};
struct Lepton : public reco::LeafCandidate {
   float isolations_[8] = {};
   double dB_ = 0, edB_ = 0;
   std::vector<double> ip_;
   std::vector<std::pair<std::string, float>> ids_;
   UserData userData_;
   std::vector<edm::Ptr> associated_;
   std::vector<reco::Track> embeddedTrack_;
};
struct Muon : public Lepton {
   std::uint32_t selectors_ = 0;
   float segmentCompatibility_ = 0, softMva_ = 0;
   int matches_ = 0;
};
struct Electron : public Lepton {
   float shower_[20] = {};
   float mva_[6] = {};
   std::vector<reco::CaloCluster> superCluster_;
   bool passConversionVeto_ = false;
};
struct Photon : public Lepton {
   float shower_[20] = {};
   bool pixelSeed_ = false;
   std::vector<reco::CaloCluster> superCluster_;
};
struct Tau : public Lepton {
   std::vector<edm::Ptr> signal_, isolation_;
   int decayMode_ = 0;
};
struct MET : public reco::LeafCandidate {
   double sumEt_ = 0, eLongitudinal_ = 0;
   float significance_[4] = {};
   std::vector<math::PtEtaPhiM> uncertainties_;
};
struct IsolatedTrack : public reco::LeafCandidate {
   float isolations_[8] = {};
   float dz_ = 0, dxy_ = 0, dzError_ = 0, dxyError_ = 0;
   std::vector<std::uint16_t> crossedEcal_;
};
} // namespace pat

struct EcalRecHit {
   std::uint32_t id_ = 0;
   float energy_ = 0, time_ = 0;
   std::uint32_t flagBits_ = 0;
};
struct HBHERecHit {
   std::uint32_t id_ = 0;
   float energy_ = 0, time_ = 0, chi2_ = 0;
   std::uint32_t flags_ = 0, aux_ = 0;
};
struct PileupSummaryInfo {
   int number_ = 0, bunchCrossing_ = 0;
   std::vector<float> z_, sumPtLow_, sumPtHigh_;
   std::vector<int> tracksLow_;
   float trueNumber_ = 0;
};
struct GenEventInfoProduct {
   std::vector<double> weights_;
   std::uint32_t signalProcessID_ = 0;
   double qScale_ = 0, alphaQCD_ = 0, alphaQED_ = 0;
   std::vector<float> pdf_;
   std::vector<double> differentialJetRates_;
};
struct LHEWeight {
   std::string id;
   double wgt = 0;
};
struct LHEEventProduct {
   std::vector<LHEWeight> weights_;
   std::vector<std::string> comments_;
   double originalWeight_ = 0;
   std::vector<int> IDUP, ISTUP;
   std::vector<std::vector<double>> PUP;
};
struct BeamSpot {
   math::Point position_;
   double sigmaZ_ = 0, dxdz_ = 0, dydz_ = 0;
   double covariance_[7][7] = {};
   float emittance_ = 0;
   int type_ = 0;
};
struct L1Report {
   std::list<int> bits_;
   std::set<std::string> seeds_;
   std::vector<std::map<int, float>> prescales_;
};
// With TObject as its base, a TString, and an array as long as another member says.
class DetectorStatus : public TObject {
public:
   DetectorStatus() = default;
   ~DetectorStatus() override { delete[] fCurrents; }
   void SetCurrents(int count)
   {
      delete[] fCurrents;
      fCount = count;
      fCurrents = count ? new float[count]() : nullptr;
   }
   TString fName;
   int fCount = 0;
   float *fCurrents = nullptr; //[fCount]
   ClassDefOverride(DetectorStatus, 1)
};
