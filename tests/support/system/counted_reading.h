#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::test {

/// Counts what a thread has read, in a program that tests/CMakeLists.txt links with
/// kCountedReading. Another program counts nothing.
struct Reading {
  std::vector<std::string> opened;  // files that were opened to be read, in order
  /// Bytes of mapped files that were let go of after their use: whole pages. Headers of shards and
  /// manifests, which stay mapped, are not among them.
  std::uint64_t mapped = 0;
};

/// Counts anew what this thread reads.
void start_reading();
[[nodiscard]] const Reading& reading();

}  // namespace penstock::test
