#pragma once

#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The regular expression that cuts a text into the words within which BPE merges.
enum class WordSplit {
  gpt2,   // Whisper's too: a space belongs to the word after it, and numbers are words
  qwen2,  // each digit is a word, and punctuation and line ends belong to what they adjoin
};

/// The expression of Qwen2, as tokenizer.json writes it. GPT-2's has no text there.
inline constexpr std::string_view kQwen2Expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
    R"(\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Returns the words of a text, which together are the text.
[[nodiscard]] std::vector<std::u32string_view> split_words(std::u32string_view text,
                                                           WordSplit split);

}  // namespace penstock::runtime
