// An open file of sapwood's C ABI, closed with its last owner or before. Failures are exceptions with sapwood's message.

#pragma once

#include <sapwood.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

class SapwoodHandle {
public:
   explicit SapwoodHandle(const std::string &url)
   {
      if (sapwood_abi() != SAPWOOD_ABI)
         throw std::runtime_error("libsapwood.so has another version than ROOT's plugin: build both again");
      char message[kMessage];
      if (sapwood_open(url.c_str(), nullptr, 0, &fFile, message, sizeof message) != SAPWOOD_OK)
         throw std::runtime_error(message);
   }
   ~SapwoodHandle() { Close(); }
   SapwoodHandle(const SapwoodHandle &) = delete;
   SapwoodHandle &operator=(const SapwoodHandle &) = delete;

   // Closes the file for all owners. Closing it again does nothing.
   void Close() const { sapwood_close(fFile); }

   std::uint64_t Size() const { return sapwood_size(fFile); }

   void Read(const std::vector<sapwood_range> &ranges) const
   {
      char message[kMessage];
      if (sapwood_read(fFile, ranges.data(), ranges.size(), 0, message, sizeof message) != SAPWOOD_OK)
         throw std::runtime_error(message);
   }

   // Reads up to the end of the file at most, and returns the number of bytes.
   std::uint64_t ReadAt(void *into, std::uint64_t length, std::uint64_t offset) const
   {
      const std::uint64_t size = Size();
      length = offset < size ? std::min(length, size - offset) : 0;
      if (length > 0)
         Read({{offset, length, into}});
      return length;
   }

   std::string Report() const
   {
      // It may grow between the two calls.
      std::string text(sapwood_report(fFile, nullptr, 0) + 4096, '\0');
      text.resize(std::min(text.size(), sapwood_report(fFile, text.data(), text.size())));
      return text;
   }

private:
   static constexpr std::size_t kMessage = 2048;
   sapwood_file fFile = 0;
};
