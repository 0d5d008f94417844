#pragma once

#include <string>

#include "configs/config.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// Replaces text.model in a recipe that resumes a run if the file that it names is missing. The
/// replacement is the copy in the newest checkpoint that has an intact one. Otherwise returns the
/// recipe unchanged.
[[nodiscard]] configs::Config with_saved_tokenizer(configs::Config config);

/// Describes how text.model differs from the checkpoint's copy: "was …, is now …". Returns an empty
/// text if the bytes are equal; file names do not matter. FileError if the file cannot be read.
[[nodiscard]] std::string tokenizer_change(const configs::TextConfig& text,
                                           const TrainingState& saved);

}  // namespace penstock::runtime
