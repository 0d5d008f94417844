#pragma once

#include <string>

#include "configs/config.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// The recipe with text.model from the run that trainer.resume goes on with, where the file that
/// it names is gone: that of the newest checkpoint which has one whole. Unchanged elsewhere.
[[nodiscard]] configs::Config with_saved_tokenizer(configs::Config config);

/// What of text.model is not as in the checkpoint, as "was …, is now …"; empty if nothing. Names of
/// files do not count, their bytes do. FileError if the file can't be read.
[[nodiscard]] std::string tokenizer_change(const configs::TextConfig& text,
                                           const TrainingState& saved);

}  // namespace penstock::runtime
