// Random values that compress like physics data: truncated mantissas, many repeated small numbers.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

// xorshift128+: the same values on every machine for the same seed.
class Random {
public:
   explicit Random(std::uint64_t seed) : fState{seed * 0x9E3779B97F4A7C15ull + 1, seed ^ 0xD1B54A32D192ED03ull}
   {
      for (int i = 0; i < 8; i++)
         Bits();
   }
   std::uint64_t Bits()
   {
      std::uint64_t a = fState[0], b = fState[1];
      fState[0] = b;
      a ^= a << 23;
      fState[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
      return fState[1] + b;
   }
   float Uniform() { return (Bits() >> 40) * (1.0f / 16777216.0f); }
   float Exponential(float mean) { return -mean * std::log(1.0f - Uniform() + 1e-9f); }
   // The sum of four uniform numbers: a sufficient approximation, and identical on every machine.
   float Gauss()
   {
      float sum = 0;
      for (std::uint64_t bits = Bits(), i = 0; i < 4; i++, bits >>= 16)
         sum += (bits & 0xffff) * (1.0f / 65536.0f);
      return (sum - 2.0f) * 1.732f;
   }
   int Poisson(float mean)
   {
      const float limit = std::exp(-mean);
      int count = -1;
      for (float product = 1; product > limit && count < 1000; count++)
         product *= Uniform();
      return count;
   }

private:
   std::uint64_t fState[2];
};

// Keeps `bits` of a float's 23 bits of mantissa.
inline float CutMantissa(float value, int bits)
{
   std::uint32_t word;
   std::memcpy(&word, &value, 4);
   word += 1u << (22 - bits);
   word &= ~((1u << (23 - bits)) - 1);
   std::memcpy(&value, &word, 4);
   return value;
}

enum class Kind { Pt, Eta, Phi, Mass, Score, Isolation, Gauss, Full, Weight, Id, Index, Bits, Charge, Pdg, Bool };

inline Kind KindOf(const std::string &word)
{
   static const std::map<std::string, Kind> kinds = {
      {"pt", Kind::Pt},         {"eta", Kind::Eta},     {"phi", Kind::Phi},     {"mass", Kind::Mass},
      {"score", Kind::Score},   {"isolation", Kind::Isolation}, {"gauss", Kind::Gauss}, {"full", Kind::Full},
      {"weight", Kind::Weight}, {"id", Kind::Id},       {"index", Kind::Index}, {"bits", Kind::Bits},
      {"charge", Kind::Charge}, {"pdg", Kind::Pdg},     {"bool", Kind::Bool}};
   auto found = kinds.find(word);
   if (found == kinds.end())
      throw std::runtime_error("unknown kind of values: " + word);
   return found->second;
}

// A value of a kind; `index` of `count` in its collection, `previous` the value before it.
inline double Value(Random &random, Kind kind, int index, int count, double previous)
{
   static const int pdg[] = {21, 22, 211, -211, 1,  2,   -1,  -2,   5, -5, 24, -24, 6,  -6, 11,  -11,
                             13, -13, 15, -15, 111, 130, 2212, 3, -3, 4,  -4,  12, 14, 16, 511, 521};
   const float u = random.Uniform();
   switch (kind) {
   case Kind::Pt:
      return CutMantissa(index == 0 ? 15 + random.Exponential(70) : 5 + float(previous - 5) * (0.35f + 0.6f * u), 10);
   case Kind::Eta: return CutMantissa(random.Gauss() * 1.6f, 11);
   case Kind::Phi: return CutMantissa((u - 0.5f) * 6.2831853f, 11);
   case Kind::Mass: return u < 0.3f ? 0 : CutMantissa(random.Exponential(8), 9);
   case Kind::Score: return u < 0.25f ? -1 : CutMantissa(u * u * u, 9);
   case Kind::Isolation: return u < 0.45f ? 0 : CutMantissa(random.Exponential(0.1f), 9);
   case Kind::Gauss: return CutMantissa(random.Gauss() * 0.5f, 10);
   case Kind::Full: return random.Gauss() * 10 + 20;
   case Kind::Weight: return CutMantissa(1 + 0.05f * random.Gauss(), 13);
   case Kind::Id: return u < 0.6f ? 1 : u < 0.8f ? 2 : int(random.Uniform() * 8);
   case Kind::Index: return u < 0.55f ? -1 : int(random.Uniform() * (count < 3 ? 3 : count));
   case Kind::Bits: return u < 0.4f ? 0 : u < 0.7f ? 5 : int(random.Uniform() * 120);
   case Kind::Charge: return u < 0.5f ? 1 : -1;
   case Kind::Pdg: return pdg[int(u * random.Uniform() * 32)];
   case Kind::Bool: return u < 0.8f;
   }
   return 0;
}
