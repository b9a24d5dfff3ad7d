// Reads the next windows of a tree's cache in the background while the program works on one.

#pragma once

#include "SapwoodHandle.h"

#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <unordered_map>
#include <vector>

// A piece of a file that will probably be read, and the first entry that needs it.
struct Basket {
   std::int64_t fEntry;
   std::uint64_t fOffset;
   std::uint64_t fLength;
};

// Not thread-safe.
class ReadAhead {
public:
   // Reads ranges: what was read ahead is copied, the rest is one vector read. Returns the number of copied ranges.
   std::size_t Read(const SapwoodHandle &file, const std::vector<sapwood_range> &ranges);

   // Reads ahead: `next` are pieces in the order of their entries, of which a window takes about `window`
   // bytes.
   void Plan(const std::shared_ptr<SapwoodHandle> &file, const std::vector<Basket> &next, std::uint64_t window);

private:
   // Bytes that are on the way, which a thread keeps alive, too.
   struct Window {
      std::vector<char> fBytes;
      // By offset, length and place in the bytes of what is not copied yet.
      std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> fPlaces;
      std::shared_future<void> fDone;
   };

   bool Copy(const sapwood_range &range);
   bool IsAhead(std::uint64_t offset) const;

   std::deque<std::shared_ptr<Window>> fWindows;
   std::size_t fDepth = 1; // windows to keep on the way: more if the program waits for them
};
