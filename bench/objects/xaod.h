// Classes as ATLAS stores them in xAOD: links between the collections.
#pragma once
#include <cstdint>
#include <vector>

struct ElementLinkBase {
   std::uint32_t m_persKey = 0, m_persIndex = 0;
};
template <class T>
struct ElementLink : public ElementLinkBase {};
struct JetContainer {};
