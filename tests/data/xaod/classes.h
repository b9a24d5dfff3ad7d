// The classes of an ATLAS xAOD file as far as they are stored.
#pragma once
#include <string>
#include <vector>

template <class T> struct DataVector {};
template <class T> struct ElementLink { unsigned int m_persKey = 0, m_persIndex = 0; };

namespace xAOD {
struct AuxInfoBase { virtual ~AuxInfoBase() = default; };
struct AuxContainerBase { virtual ~AuxContainerBase() = default; };
struct EventAuxInfo_v1 : AuxInfoBase { unsigned int runNumber = 0; unsigned long long eventNumber = 0; };
struct ElectronAuxContainer_v3 : AuxContainerBase { std::vector<float> pt, eta; };
struct MuonAuxContainer_v4 : AuxContainerBase { std::vector<float> pt; std::vector<int> author; };
struct TruthParticle_v1 {};
struct EventFormat_v1 {
  std::vector<std::string> m_branchNames, m_classNames, m_parentNames;
  std::vector<unsigned int> m_branchHashes;
};
}  // namespace xAOD

using TruthLink = ElementLink<DataVector<xAOD::TruthParticle_v1>>;
