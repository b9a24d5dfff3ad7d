// What the programs that write columns with ROOT share: the columns, and the time and memory of this process.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <vector>

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

inline double ProcessorTime()
{
   rusage usage;
   getrusage(RUSAGE_SELF, &usage);
   return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
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
