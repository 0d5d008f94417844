#include "runtime/decoding/word_scores.h"

#include <algorithm>
#include <numbers>
#include <utility>

// The score is pyctcdecode 0.5.0's LanguageModel. A difference is that no end of a text counts as a
// word: pyctcdecode scores an unknown word, and a word more, for a text without words, or for one
// with a space at its end.

namespace penstock::runtime {
namespace {

constexpr double kUsualCharacters = 6;  // of a word; a longer unknown beginning costs more

/// Returns the number of characters that begin in UTF-8 bytes.
int characters_in(std::string_view bytes) {
  return static_cast<int>(std::ranges::count_if(
      bytes, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

WordScores::WordScores(const WordScoring& scoring, std::shared_ptr<const NgramModel> model)
    : scoring_(scoring), model_(std::move(model)), words_(model_->words()) {
  for (std::size_t i = 0; i < words_.size(); ++i)
    numbers_.push_back(model_->number(words_.word(i)));
}

WordScores::State WordScores::start() const {
  return {.words = model_->start(), .word = words_.start()};
}

WordScores::State WordScores::extended(State state, std::string_view text) const {
  while (!text.empty()) {
    if (text.front() == ' ') {
      finish_word(state);
      text.remove_prefix(1);
      continue;
    }
    const std::string_view part = text.substr(0, text.find(' '));
    state.word = words_.extended(state.word, part);
    state.characters += characters_in(part);
    text.remove_prefix(part.size());
  }
  return state;
}

void WordScores::finish_word(State& state) const {
  if (state.characters == 0) return;
  const auto place = words_.place(state.word);
  const std::uint32_t number = place ? numbers_[*place] : NgramModel::kUnknown;
  const auto [log10, after] = model_->step(state.words, number);
  const double unknown = number == NgramModel::kUnknown ? scoring_.unknown_score : 0;
  state.finished +=
      scoring_.lm_weight * std::numbers::ln10 * (log10 + unknown) + scoring_.word_score;
  state.words = after;
  state.word = words_.start();
  state.characters = 0;
}

double WordScores::score(const State& state) const {
  if (state.characters == 0 || state.word.begins_words()) return state.finished;
  return state.finished +
         scoring_.unknown_score * std::max(1.0, state.characters / kUsualCharacters);
}

double WordScores::ended_score(State state) const {
  finish_word(state);
  return state.finished + scoring_.lm_weight * std::numbers::ln10 * model_->end(state.words);
}

}  // namespace penstock::runtime
