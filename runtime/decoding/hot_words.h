#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/decoding/word_list.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {

inline constexpr double kHotScore = 10;  // pyctcdecode's hotword_weight

/// Words that are expected, such as names, and what they add to the score of a text, as in
/// pyctcdecode. A word of the list adds `score`. A beginning of some adds the share of `score` that
/// its characters are of the shortest of them, so that a search does not drop it before it ends;
/// another letter, with which it begins none of them, takes this away.
class HotWords {
 public:
  /// No words.
  HotWords() : HotWords({}, 0) {}
  /// `words` are written as transcripts are, without spaces.
  HotWords(std::vector<std::string> words, double score);

  bool empty() const { return words_.size() == 0; }
  /// The beginning of a word, which WordList follows.
  WordList::Beginning start() const { return words_.start(); }
  WordList::Beginning extended(const WordList::Beginning& word, std::string_view bytes) const {
    return words_.extended(word, bytes);
  }
  /// Returns what a word adds that ends here.
  double ended_score(const WordList::Beginning& word) const;
  /// Returns what a word of so many characters, from 1, adds that goes on.
  double score(const WordList::Beginning& word, int characters) const;

 private:
  WordList words_;
  std::vector<int> characters_;  // of each word
  double score_;
};

/// Reads a file of words or phrases, one a line. Its words are written by the tokenizer's rules,
/// and those of a phrase count one by one. ConfigError, with the line, for characters that have no
/// label or are not UTF-8, and for a file that can't be read or has no words.
[[nodiscard]] std::vector<std::string> read_hot_words(const std::filesystem::path& file,
                                                      const Tokenizer& tokenizer);

}  // namespace penstock::runtime
