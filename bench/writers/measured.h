// What programs that measure themselves share: the content of a file, and the time and memory of this process.
#pragma once
#include <chrono>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using Clock = std::chrono::steady_clock;

inline std::vector<char> Content(const std::string &path)
{
   std::ifstream file(path, std::ios::binary | std::ios::ate);
   if (!file)
      throw std::runtime_error("cannot read " + path);
   std::vector<char> bytes(file.tellg());
   file.seekg(0);
   file.read(bytes.data(), bytes.size());
   return bytes;
}

inline double Seconds(Clock::time_point begin)
{
   return std::chrono::duration<double>(Clock::now() - begin).count();
}

inline double ProcessorTime()
{
   timespec now;
   clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
   return now.tv_sec + 1e-9 * now.tv_nsec;
}

// A value in the kernel's status of this process, in bytes.
inline long Memory(const std::string &what)
{
   std::ifstream status("/proc/self/status");
   for (std::string word; status >> word;)
      if (long kilobytes; word == what && status >> kilobytes)
         return 1024 * kilobytes;
   return 0;
}
