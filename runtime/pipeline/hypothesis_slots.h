#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/losses/text_beam.h"

namespace penstock::runtime {

/// Rows of a cache that are copied from one slot to another.
struct SlotCopy {
  std::int64_t from = 0, to = 0;
  std::int64_t first = 0, end = 0;  // rows
  bool operator==(const SlotCopy&) const = default;
};

/// Says which rows of a cache are copied so that each slot has those of its hypothesis. A beam of N
/// takes the slots u · N to u · N + N - 1 of utterance u.
///
/// The rows before the texts are computed for slot u of utterance u, since there are no hypotheses
/// yet. They move to slot u · N, and from there to a slot when it is first used. All hypotheses of
/// an utterance have them alike. So later only the texts' rows are copied, and only to slots whose
/// text continues that of another slot.
class HypothesisSlots {
 public:
  /// `before` are the rows of each utterance before its text.
  HypothesisSlots(int beam, std::vector<std::int64_t> before);

  /// Returns the copies before a round, in their order. `steps` are those of all slots, and `past`
  /// the rows of each utterance that count, which its hypotheses have alike. No slot is read after
  /// it was written.
  std::vector<SlotCopy> copies(std::span<const layers::TextStep> steps,
                               std::span<const std::int64_t> past);

 private:
  std::int64_t beam_;
  std::vector<std::int64_t> before_;
  std::vector<bool> used_;  // slots that have the rows before the text
};

}  // namespace penstock::runtime
