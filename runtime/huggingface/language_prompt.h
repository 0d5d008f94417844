#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "layers/models/decoder.h"
#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {

/// Returns the rows of the tokens of a prompt, in which "{}" stands for `language`, in small
/// letters as transformers has it. Throws CheckpointError if the vocabulary has no row for one,
/// which names languages that it has.
[[nodiscard]] std::vector<int> language_prompt(const std::vector<std::string_view>& tokens,
                                               const Vocabulary& vocabulary,
                                               const std::string& language,
                                               const std::filesystem::path& folder);

/// Returns the language that the prompt of an architecture names, and the prompt's rows, if
/// `language` is asked for; empty: the architecture's default. Both are empty if there is no
/// prompt, and a model of one language names none. Throws CheckpointError like language_prompt().
[[nodiscard]] std::pair<std::string, std::vector<int>> choose_prompt(
    const Architecture& architecture, const Vocabulary& vocabulary, const std::string& language,
    const std::filesystem::path& folder);

/// Returns the label of a row of the head, whose row `blank` becomes label 0.
[[nodiscard]] int label_of_row(int row, std::int64_t blank);

/// Sets the labels of the prompt's rows, of a head whose row `blank` becomes label 0. The last one
/// of an attention decoder's begins texts, and label 0 ends them.
void set_text_ends(const Architecture& architecture, const std::vector<int>& rows,
                   std::int64_t blank, layers::DecoderOptions& decoder);

/// A language, and a decoder whose prompt names it.
struct LanguageDecoder {
  std::string name;
  layers::DecoderOptions decoder;
};

/// Sets decoder.languages and decoder.prompts. Throws CheckpointError, which names the folder, if
/// prompts have other numbers of tokens, or if texts begin with another token.
void set_languages(const std::vector<LanguageDecoder>& languages,
                   const std::filesystem::path& folder, layers::DecoderOptions& decoder);

}  // namespace penstock::runtime
