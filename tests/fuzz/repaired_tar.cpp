#include "tests/fuzz/repaired_tar.h"

#include <fmt/format.h>

#include <cstddef>

namespace penstock::test {

// A header is told by ustar's magic. Its sum counts its own eight bytes as spaces.
std::string repaired_tar(std::string_view tar) {
  constexpr std::size_t kBlock = 512, kMagic = 257, kSum = 148, kSumBytes = 8;
  std::string whole(tar);
  for (std::size_t at = 0; at + kBlock <= whole.size(); at += kBlock) {
    if (whole.compare(at + kMagic, 5, "ustar") != 0) continue;
    whole.replace(at + kSum, kSumBytes, kSumBytes, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(whole[at + i]);
    whole.replace(at + kSum, kSumBytes - 1, fmt::format("{:06o}", sum) + '\0');
  }
  return whole;
}

}  // namespace penstock::test
