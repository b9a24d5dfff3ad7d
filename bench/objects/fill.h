// Fills the classes of edm.h with values that compress as those of MiniAOD do.
#pragma once
#include "../generators/values.h"
#include "edm.h"
#include <algorithm>

class Filler {
public:
   Random fRandom{777};

   float Uniform() { return fRandom.Uniform(); }
   float Gauss(float sigma) { return fRandom.Gauss() * sigma; }
   float Exponential(float mean) { return fRandom.Exponential(mean); }
   float Cut(float value, int bits = 12) { return CutMantissa(value, bits); }
   int Below(float limit) { return int(fRandom.Uniform() * limit); }
   bool Chance(float probability) { return fRandom.Uniform() < probability; }
   // A Poisson number; for great means, a scaled one.
   int Count(float mean)
   {
      if (mean <= 0)
         return 0;
      return mean > 60 ? int(fRandom.Poisson(60) * mean / 60) : fRandom.Poisson(mean);
   }
   template <class Vector>
   void Resize(Vector &items, float mean)
   {
      items.resize(Count(mean));
   }
   math::Point Somewhere(float transverse, float along)
   {
      return {{Cut(Gauss(transverse)), Cut(Gauss(transverse)), Cut(Gauss(along))}};
   }

   void Candidate(reco::LeafCandidate &c, float pt)
   {
      c.pt_ = Cut(pt, 14);
      c.eta_ = Cut(Gauss(1.8f), 14);
      c.phi_ = Cut((Uniform() - .5f) * 6.283f, 14);
      c.mass_ = Chance(.5f) ? 0.1396f : Cut(Exponential(5));
      c.qx3_ = 3 * (Below(3) - 1);
      c.pdgId_ = Chance(.6f) ? 211 : Below(23);
      c.status_ = Chance(.8f) ? 1 : 2;
      c.vertex_ = Chance(.3f) ? Somewhere(.02f, 4) : math::Point();
   }
   void Track(reco::Track &t)
   {
      for (auto &x : t.covariance_)
         x = Cut(Gauss(1e-4f), 10);
      t.vertex_ = Somewhere(.1f, 4);
      t.momentum_ = Somewhere(2, 3);
      t.chi2_ = Cut(Exponential(15), 8);
      t.ndof_ = Below(30);
      t.algorithm_ = t.originalAlgorithm_ = Chance(.2f) ? 9 : 4;
      t.quality_ = 7;
      t.charge_ = Chance(.5f) ? 1 : -1;
      for (auto &x : t.hitPattern_)
         x = Below(40) * 8;
      t.extra_.id_ = {1, 33};
      t.extra_.index_ = Below(1000);
   }
   void Vertex(reco::Vertex &v, float chi2, float ndof, float tracks)
   {
      v.chi2_ = Exponential(chi2);
      v.ndof_ = ndof;
      v.position_ = Somewhere(1, 4);
      for (auto &x : v.covariance_)
         x = Cut(Gauss(1e-3f), 10);
      Resize(v.tracks_, tracks);
      for (auto &track : v.tracks_)
         track.index_ = Below(900);
      v.weights_.assign(v.tracks_.size(), 255);
   }
   void Cluster(reco::CaloCluster &c)
   {
      c.energy_ = Exponential(10);
      c.correctedEnergy_ = c.energy_ * (1 + Gauss(.02f));
      c.position_ = Somewhere(120, 200);
      c.seedId_ = 838860800u + Below(60000);
      c.hitsAndFractions_.resize(3 + Below(15));
      for (auto &[id, fraction] : c.hitsAndFractions_) {
         id = c.seedId_ + Below(12) + 512 * Below(4);
         fraction = Chance(.8f) ? 1 : Cut(Uniform(), 8);
      }
      c.algoID_ = 3;
   }
   void Pointers(std::vector<edm::Ptr> &pointers, int count, std::uint16_t product, int step)
   {
      pointers.resize(count);
      unsigned key = Below(300);
      for (auto &pointer : pointers) {
         pointer.id_ = {1, product};
         pointer.key_ = key += 1 + Below(step);
      }
   }
   void User(pat::UserData &user, int count)
   {
      user.labels_.clear();
      user.floats_.clear();
      for (int i = 0; i < count; i++) {
         user.labels_.push_back("pileupJetId:userFloat" + std::to_string(i));
         user.floats_.push_back(Cut(Gauss(1), 10));
      }
      user.intLabels_ = {"pileupJetId:fullId", "pileupJetIdUpdated:fullId"};
      user.ints_ = {7, Below(8)};
   }
   void Lepton(pat::Lepton &l)
   {
      static const char *ids[] = {"cutBasedElectronID-Fall17-94X-V2-loose",  "cutBasedElectronID-Fall17-94X-V2-medium",
                                  "cutBasedElectronID-Fall17-94X-V2-tight",  "cutBasedElectronID-Fall17-94X-V2-veto",
                                  "heepElectronID-HEEPV70",                  "mvaEleID-Fall17-iso-V2-wp80",
                                  "mvaEleID-Fall17-iso-V2-wp90",             "mvaEleID-Fall17-noIso-V2-wp80"};
      Candidate(l, 10 + Exponential(20));
      for (auto &x : l.isolations_)
         x = Chance(.4f) ? 0 : Cut(Exponential(1));
      l.dB_ = Gauss(.01f);
      l.edB_ = .001 + Uniform() * .002;
      l.ip_ = {Gauss(.01f), Gauss(.01f), Gauss(.01f), Gauss(.01f)};
      l.ids_.clear();
      for (const char *id : ids)
         l.ids_.emplace_back(id, Chance(.6f));
      User(l.userData_, 6);
      Pointers(l.associated_, 1 + Below(4), 41, 400);
      l.embeddedTrack_.resize(1);
      Track(l.embeddedTrack_[0]);
   }
   void Electron(pat::Electron &e)
   {
      Lepton(e);
      for (auto &x : e.shower_)
         x = Cut(Gauss(1));
      for (auto &x : e.mva_)
         x = Uniform();
      e.superCluster_.resize(1);
      Cluster(e.superCluster_[0]);
      e.passConversionVeto_ = true;
   }
   void Photon(pat::Photon &p)
   {
      Lepton(p);
      for (auto &x : p.shower_)
         x = Cut(Gauss(1));
      p.superCluster_.resize(1);
      Cluster(p.superCluster_[0]);
   }
   void Jet(pat::Jet &j)
   {
      Candidate(j, 15 + Exponential(40));
      j.jetArea_ = Cut(.5f + Gauss(.02f), 10);
      j.mChargedHadronEnergy = Exponential(20);
      j.mNeutralHadronEnergy = Exponential(5);
      j.mPhotonEnergy = Exponential(10);
      j.mElectronEnergy = Chance(.9f) ? 0 : Exponential(5);
      j.mMuonEnergy = Chance(.9f) ? 0 : Exponential(5);
      j.mChargedHadronMultiplicity = Below(20);
      j.mNeutralHadronMultiplicity = Below(5);
      j.mPhotonMultiplicity = Below(12);
      Pointers(j.daughters_, 10 + Below(20), 41, 12);
      j.pairDiscriVector_.clear();
      for (int i = 0; i < 40; i++)
         j.pairDiscriVector_.emplace_back("pfParticleNetFromMiniAODAK4PuppiCentralJetTags:prob" + std::to_string(i),
                                          Uniform() * Uniform() * Uniform());
      j.jec_.resize(1);
      j.jec_[0].label_ = "patJetCorrFactorsSlimmedJets";
      j.jec_[0].jec_.clear();
      for (const char *level : {"Uncorrected", "L1FastJet", "L2Relative", "L3Absolute"})
         j.jec_[0].jec_.emplace_back(level, std::vector<float>(level[1] == '3' ? 5 : 1, 1 + Gauss(.1f)));
      User(j.userData_, 5);
      j.hadronFlavour_ = Chance(.2f) ? 5 : 0;
      j.partonFlavour_ = Below(6);
   }
   void Packed(pat::PackedCandidate &c)
   {
      const bool charged = Chance(.6f);
      c.packedPt_ = 15000 + std::uint16_t((.3f + Exponential(1.2f)) * 300);
      c.packedEta_ = std::int16_t(Gauss(9000));
      c.packedPhi_ = std::int16_t((Uniform() - .5f) * 65000);
      c.packedM_ = charged ? 8000 : 0;
      c.packedDxy_ = charged ? std::int16_t(Gauss(300)) : 0;
      c.packedDz_ = charged ? std::int16_t(Gauss(300)) : 0;
      c.packedPuppiweight_ = Chance(.6f) ? 0 : Below(128);
      c.rawCaloFraction_ = charged ? 0 : Below(100);
      c.hcalFraction_ = Chance(.7f) ? 0 : Below(100);
      c.pdgId_ = charged ? (Chance(.5f) ? 211 : -211) : (Chance(.7f) ? 22 : 130);
      c.qualityFlags_ = charged ? 1032 + Below(8) : 0;
      c.pvRef_.id_ = {1, 29};
      c.pvRef_.index_ = charged ? unsigned(Uniform() * Uniform() * 30) : 0;
      c.packedHits_ = charged ? Below(20) : 0;
      c.packedLayers_ = charged ? Below(14) : 0;
      c.normalizedChi2_ = charged ? Below(6) : 0;
      c.covarianceVersion_ = 1;
   }
   void Packed(pat::PackedGenParticle &p)
   {
      p.packedPt_ = 15000 + std::uint16_t(Exponential(600));
      p.packedY_ = std::int16_t(Gauss(9000));
      p.packedPhi_ = std::int16_t((Uniform() - .5f) * 65000);
      p.packedM_ = 8000;
      p.pdgId_ = Chance(.6f) ? (Chance(.5f) ? 211 : -211) : 22;
      p.mother_.id_ = {1, 20};
      p.mother_.index_ = Below(90);
      p.flags_ = 1;
   }
   void TagInfo(reco::JetTagInfo &info)
   {
      info.kind_ = Chance(.5f) ? reco::JetTagInfo::kVertex : reco::JetTagInfo::kTrack;
      info.label_ = Chance(.1f) ? "" : "pfInclusiveSecondaryVertexFinder";
      info.discriminators_.clear();
      info.weights_.clear();
      for (int i = Below(6); i > 0; i--) {
         info.discriminators_["probability" + std::to_string(i)] = Uniform();
         info.weights_[3 * i].assign(Below(4), Uniform());
      }
      Resize(info.tracksByVertex_, .8f);
      for (auto &tracks : info.tracksByVertex_) {
         Resize(tracks, 2);
         for (auto &track : tracks)
            Track(track);
      }
      delete info.best_;
      info.best_ = Chance(.4f) ? nullptr : new reco::Vertex;
      if (info.best_)
         Vertex(*info.best_, 3, 2, 2);
   }
   void SoftLepton(reco::SoftLepton &l)
   {
      l.ip_ = Gauss(2);
      l.ratio_ = Uniform();
      l.significance_ = Gauss(3);
      for (auto &x : l.axis_)
         x = Gauss(1);
      l.distances_.resize(Count(2));
      for (auto &x : l.distances_)
         x = Exponential(1);
   }
   // Candidates of three classes, behind pointers to their base.
   void Own(edm::OwnVector<reco::Candidate> &own)
   {
      own.Clear();
      for (int i = Count(3); i > 0; i--) {
         reco::LeafCandidate *candidate;
         switch (Below(3)) {
         case 0: candidate = new reco::LeafCandidate; break;
         case 1: candidate = new reco::GenParticle; break;
         default: candidate = new pat::IsolatedTrack;
         }
         Candidate(*candidate, 5 + Exponential(10));
         own.data_.push_back(candidate);
      }
   }
   void L1(L1Report &report)
   {
      report.bits_.clear();
      report.seeds_.clear();
      Resize(report.prescales_, 2);
      for (int i = Below(5); i > 0; i--) {
         report.bits_.push_back(Below(512));
         report.seeds_.insert("L1_SingleMu" + std::to_string(Below(30)));
      }
      for (auto &prescale : report.prescales_) {
         prescale.clear();
         for (int i = Below(4); i > 0; i--)
            prescale[Below(100)] = Exponential(10);
      }
   }
   void Status(DetectorStatus &status)
   {
      status.fName = Chance(.5f) ? "strips" : "pixels";
      status.SetCurrents(Below(12));
      for (int i = 0; i < status.fCount; i++)
         status.fCurrents[i] = Cut(Gauss(1));
   }
};
