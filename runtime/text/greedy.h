#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Greedy CTC decoding of one utterance: the best label of every frame (the lower one of equals),
/// repeats collapsed, then blanks dropped. `logits_FC` are frames × `channels` numbers, normalised
/// or not. The first `labels` channels stand for labels; the others, outputs that the text has no
/// use for, are not looked at. ShapeError if that is no whole number of frames, or if there are
/// more labels than channels.
[[nodiscard]] std::vector<std::int32_t> greedy_labels(std::span<const float> logits_FC,
                                                      std::int64_t channels, std::int64_t labels);

}  // namespace penstock::runtime
