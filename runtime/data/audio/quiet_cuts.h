#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <vector>

#include "runtime/data/audio/audio.h"

namespace penstock::runtime {

/// Cuts a recording where it is quiet, while its samples pass. Memory follows from the longest part
/// and the number of parts.
class QuietCuts {
 public:
  /// Parts last `seconds` at most, and at least half of that, but for the last two: the last one
  /// lasts half a second, or a third of both. ConfigError for less than half a second.
  QuietCuts(int rate, double seconds);

  void add(float sample);
  /// Returns the parts of all samples, one after the other, from sample 0 on.
  [[nodiscard]] std::vector<SampleRange> finish();

 private:
  void cut();
  void lengthen_last();

  std::int64_t block_, most_;    // samples in a block; blocks in the longest part
  std::int64_t samples_ = 0;     // that have passed
  std::int64_t in_block_ = 0;    // of these, in the block that is not complete
  double sum_ = 0;               // of their squares
  std::deque<double> energies_;  // of the blocks since the last cut
  std::int64_t begin_ = 0;       // sample of the last cut
  std::vector<SampleRange> parts_;
};

/// Returns the parts of a range of a recording, which QuietCuts finds; they count from the range's
/// first sample. DataError as from read_audio().
[[nodiscard]] std::vector<SampleRange> cut_where_quiet(const std::filesystem::path& file,
                                                       const SampleRange& range, double seconds);

}  // namespace penstock::runtime
