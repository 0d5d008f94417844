#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "runtime/data/batch/batching.h"
#include "runtime/data/batch/sample_hash.h"

namespace penstock::runtime {

/// Recordings of 0.3 to 12 s at three rates.
inline std::vector<AudioLength> ragged_lengths(std::uint64_t count) {
  std::vector<AudioLength> lengths;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = sample_hash(SampleKind::order, 99, {i});
    const int rate = std::array{8000, 16000, 44100}[bits % 3];
    lengths.push_back({rate * 3 / 10 + static_cast<std::int64_t>(bits % (12 * rate)), rate});
  }
  return lengths;
}

inline configs::DataConfig with_speeds() {
  configs::DataConfig data;
  data.speeds = {0.9, 1, 1.1};
  return data;
}

inline void expect_each_once(const std::vector<MicroBatch>& batches, std::size_t utterances) {
  std::set<std::uint64_t> seen;
  std::size_t count = 0;
  for (const MicroBatch& batch : batches)
    for (const BatchUtterance& utterance : batch.utterances) {
      seen.insert(utterance.id);
      ++count;
    }
  EXPECT_EQ(count, utterances);
  EXPECT_EQ(seen.size(), utterances);
}

}  // namespace penstock::runtime
