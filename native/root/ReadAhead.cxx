// ReadAhead: windows on the way, each a vector read in a thread of its own.

#include "ReadAhead.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <thread>

namespace {

constexpr std::size_t kDeepest = 4;
// Most bytes on the way at a time.
constexpr std::uint64_t kMost = 64'000'000;

} // namespace

std::size_t ReadAhead::Read(const SapwoodHandle &file, const std::vector<sapwood_range> &ranges)
{
   std::vector<sapwood_range> missing;
   std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(missing),
                [this](const auto &range) { return !Copy(range); });
   const std::size_t copied = ranges.size() - missing.size();
   // A program that goes elsewhere needs nothing of what is on the way.
   if (copied == 0)
      fWindows.clear();
   while (!fWindows.empty() && fWindows.front()->fPlaces.empty())
      fWindows.pop_front();
   if (!missing.empty())
      file.Read(missing);
   return copied;
}

// Copies a range if all of it is on the way. ROOT joins pieces that are next to each other.
bool ReadAhead::Copy(const sapwood_range &range)
{
   struct Piece {
      Window *fWindow;
      std::uint64_t fOffset, fLength;
      std::size_t fPlace;
   };
   std::vector<Piece> pieces;
   std::uint64_t at = range.offset;
   while (at < range.offset + range.length) {
      const auto holder = std::find_if(fWindows.begin(), fWindows.end(),
                                       [at](const auto &window) { return window->fPlaces.count(at) > 0; });
      if (holder == fWindows.end())
         return false;
      const auto [length, place] = (*holder)->fPlaces.at(at);
      pieces.push_back({holder->get(), at, length, place});
      at += length;
   }
   if (at != range.offset + range.length)
      return false;
   for (const auto &piece : pieces) {
      if (piece.fWindow->fDone.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
         fDepth = std::min(fDepth + 1, kDeepest);
      try {
         piece.fWindow->fDone.get();
      } catch (const std::exception &) {
         return false; // It is read again, which reports what is wrong.
      }
      std::memcpy(static_cast<char *>(range.into) + (piece.fOffset - range.offset),
                  piece.fWindow->fBytes.data() + piece.fPlace, piece.fLength);
      piece.fWindow->fPlaces.erase(piece.fOffset);
   }
   return true;
}

bool ReadAhead::IsAhead(std::uint64_t offset) const
{
   return std::any_of(fWindows.begin(), fWindows.end(),
                      [&](const auto &window) { return window->fPlaces.count(offset) > 0; });
}

void ReadAhead::Plan(const std::shared_ptr<SapwoodHandle> &file, const std::vector<Basket> &next, std::uint64_t window)
{
   std::uint64_t ahead = 0;
   for (const auto &one : fWindows)
      ahead += one->fBytes.size();
   auto basket = next.begin();
   while (fWindows.size() < fDepth) {
      auto planned = std::make_shared<Window>();
      std::vector<sapwood_range> ranges;
      std::uint64_t bytes = 0;
      std::int64_t entry = -1;
      for (; basket != next.end(); ++basket) {
         if (IsAhead(basket->fOffset))
            continue;
         // ROOT asks for whole clusters: baskets that begin with the same entry stay together.
         if (bytes > 0 && bytes + basket->fLength > window && basket->fEntry != entry)
            break;
         entry = basket->fEntry;
         planned->fPlaces[basket->fOffset] = {basket->fLength, bytes};
         ranges.push_back({basket->fOffset, basket->fLength, nullptr});
         bytes += basket->fLength;
      }
      if (ranges.empty() || ahead + bytes > kMost)
         return;
      ahead += bytes;
      planned->fBytes.resize(bytes);
      std::size_t at = 0;
      for (auto &range : ranges) {
         range.into = planned->fBytes.data() + at;
         at += range.length;
      }
      auto done = std::make_shared<std::promise<void>>();
      planned->fDone = done->get_future().share();
      // Not joined: closing a file does not wait for a server. The thread owns all that it uses.
      std::thread([file, planned, ranges, done] {
         try {
            file->Read(ranges);
            done->set_value();
         } catch (...) {
            done->set_exception(std::current_exception());
         }
      }).detach();
      fWindows.push_back(std::move(planned));
   }
}
