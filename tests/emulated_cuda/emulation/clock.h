#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace emulated_cuda {

/// A stream or a host thread: what it does comes one after the other.
using Timeline = std::size_t;

/// A vector clock: of each timeline, how many of its operations are known to be done.
class Clock {
 public:
  std::uint32_t of(Timeline line) const { return line < counts_.size() ? counts_[line] : 0; }
  void advance(Timeline line) {
    if (counts_.size() <= line) counts_.resize(line + 1);
    ++counts_[line];
  }
  /// Knows from now what `other` knows as well.
  void join(const Clock& other) {
    if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
    for (std::size_t line = 0; line < other.counts_.size(); ++line)
      if (counts_[line] < other.counts_[line]) counts_[line] = other.counts_[line];
  }

 private:
  std::vector<std::uint32_t> counts_;
};

}  // namespace emulated_cuda
