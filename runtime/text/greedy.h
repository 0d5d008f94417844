#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Decodes one utterance greedily, by CTC's rule: takes the best label of every frame (the lower
/// one of equals), merges repeats, then drops blanks. `logits_FC` are frames × `channels` numbers,
/// normalised or not. The first `labels` channels are labels; further channels are outputs without
/// a meaning in text and are ignored. Throws ShapeError if `logits_FC` is no whole number of
/// frames, or if there are more labels than channels.
[[nodiscard]] std::vector<std::int32_t> greedy_labels(std::span<const float> logits_FC,
                                                      std::int64_t channels, std::int64_t labels);

}  // namespace penstock::runtime
