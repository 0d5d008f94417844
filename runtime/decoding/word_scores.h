#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "runtime/decoding/hot_words.h"
#include "runtime/decoding/ngram_model.h"
#include "runtime/decoding/word_list.h"

namespace penstock::runtime {

struct WordScoring {
  double lm_weight = 0.5;      // of the language model's log-probability
  double word_score = 1.5;     // added for each word
  double unknown_score = -10;  // added to the logarithm (base 10) of a word that the model lacks
};

/// Scores the words of a text as pyctcdecode does, whose names are alpha, beta and
/// unk_score_offset:
///
///   lm_weight · ln 10 · (log10 P(words, end) + unknown_score · unknown words) + word_score · words
///   + what its hot words add
///
/// A text that has not ended lacks P(end). Its last word counts only when a space or a piece with
/// one has ended it. Before, it adds what HotWords say if it begins a hot word. If it begins no
/// word of the model either, it adds unknown_score, times its characters / 6 if it has more.
class WordScores {
 public:
  /// Without a model, hot words count alone.
  WordScores(const WordScoring& scoring, std::shared_ptr<const NgramModel> model,
             HotWords hot = {});
  /// Returns scores of the same words with other weights. Both share the words.
  [[nodiscard]] WordScores reweighed(const WordScoring& scoring) const;

  /// The state of the words at the beginning of a text.
  struct State {
    NgramState words = {};
    double finished = 0;                      // score of its finished words
    WordList::Beginning word = {}, hot = {};  // of the model's words, and of hot words
    int characters = 0;                       // of the word that has not ended
  };

  State start() const;
  /// Returns the state after more text, in which each space ends a word.
  State extended(State state, std::string_view text) const;
  /// Returns the score of a text that goes on, and of one that ends here.
  double score(const State& state) const;
  double ended_score(State state) const;

 private:
  /// The words of a model.
  struct Vocabulary {
    explicit Vocabulary(const NgramModel* model);
    WordList words;
    std::vector<std::uint32_t> numbers;  // in the model, by place in `words`
  };

  void finish_word(State& state) const;
  void add_word(State& state) const;

  WordScoring scoring_;
  std::shared_ptr<const NgramModel> model_;
  HotWords hot_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace penstock::runtime
