#pragma once

#include <cstdint>

#include "base/key.h"

namespace penstock::layers {

// Keys of the families whose attention may see a part of each utterance. Their numbers are frames
// behind the subsampling, and of each block: of several blocks they add up.

/// `frames` must outlive the key. -1 stands for all frames.
[[nodiscard]] Key left_context_key(int* frames);
[[nodiscard]] Key right_context_key(int* frames);

/// What AttentionOptions takes for a key's number.
[[nodiscard]] std::int64_t frames_of_context(int frames);

}  // namespace penstock::layers
