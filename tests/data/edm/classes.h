// The classes of a CMS EDM file as far as they are stored, with a few products in the manner of CMSSW's.
#pragma once
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace edm {
template <int I> struct Hash { std::string hash_; };
struct BranchID { unsigned int id_ = 0; };
struct Timestamp { unsigned int timeLow_ = 0, timeHigh_ = 0; };
struct EventID { unsigned int run_ = 0, luminosityBlock_ = 0; unsigned long long event_ = 0; };
struct EventAuxiliary {
  Hash<2> processHistoryID_;
  EventID id_;
  std::string processGUID_;
  Timestamp time_;
  unsigned int luminosityBlock_ = 0;
  bool isRealData_ = false;
  int experimentType_ = 0, bunchCrossing_ = 0, orbitNumber_ = 0, storeNumber_ = 0;
};
struct WrapperBase { virtual ~WrapperBase() = default; };
template <class T> struct Wrapper : WrapperBase { bool present = false; T obj{}; };

struct FileFormatVersion { int value_ = 0; };
struct BranchKey {
  std::string friendlyClassName_, moduleLabel_, productInstanceName_, processName_;
  bool operator<(BranchKey const &o) const {
    return std::tie(friendlyClassName_, moduleLabel_, productInstanceName_, processName_) <
           std::tie(o.friendlyClassName_, o.moduleLabel_, o.productInstanceName_, o.processName_);
  }
};
enum BranchType { InEvent, InLumi, InRun, InProcess };
struct BranchDescription {
  BranchType branchType_ = InEvent;
  std::string moduleLabel_, processName_;
  BranchID branchID_;
  std::string fullClassName_, friendlyClassName_, productInstanceName_;
  std::set<std::string> branchAliases_;
  BranchID aliasForBranchID_;
};
struct ProductRegistry { std::map<BranchKey, BranchDescription> productList_; };
struct ProcessConfiguration {
  std::string processName_;
  Hash<1> parameterSetID_;
  std::string releaseVersion_, passID_;
};
struct ProcessHistory { std::vector<ProcessConfiguration> data_; };
struct ParameterSetBlob { std::string pset_; };
struct IndexIntoFile {
  struct RunOrLumiEntry {
    long long orderPHIDRun_, orderPHIDRunLumi_, entry_;
    int processHistoryIDIndex_;
    unsigned int run_, lumi_;
    long long beginEvents_, endEvents_;
  };
  std::vector<Hash<2>> processHistoryIDs_;
  std::vector<RunOrLumiEntry> runOrLumiEntries_;
};
}  // namespace edm

namespace reco {
struct LeafCandidate { virtual ~LeafCandidate() = default; float pt_ = 0, eta_ = 0; int pdgId_ = 0; };
struct Track { float chi2_ = 0; int charge_ = 0; std::vector<int> hits_; };
}  // namespace reco
namespace pat {
struct Muon : reco::LeafCandidate { std::vector<float> isolations_; unsigned int selectors_ = 0; };
}  // namespace pat
