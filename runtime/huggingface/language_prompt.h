#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// Returns the rows of the tokens of a prompt, in which "{}" stands for `language`, in small
/// letters as transformers has it. Throws CheckpointError if the vocabulary has no row for one,
/// which names languages that it has.
[[nodiscard]] std::vector<int> language_prompt(const std::vector<std::string_view>& tokens,
                                               const Vocabulary& vocabulary,
                                               const std::string& language,
                                               const std::filesystem::path& folder);

}  // namespace penstock::runtime
