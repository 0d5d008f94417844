#pragma once

#include <cstdint>

#include "base/key.h"

namespace penstock::layers {

// Keys of the families whose attention may see a part of each utterance. They count frames after
// the subsampling and hold for each block, so the context of several blocks adds up.

/// Returns the key; `frames` must outlive it. -1 stands for all frames.
[[nodiscard]] Key left_context_key(int* frames);
[[nodiscard]] Key right_context_key(int* frames);

/// Converts a key's value to that of AttentionOptions.
[[nodiscard]] std::int64_t frames_of_context(int frames);

}  // namespace penstock::layers
