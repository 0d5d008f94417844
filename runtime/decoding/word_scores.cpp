#include "runtime/decoding/word_scores.h"

#include <algorithm>
#include <numbers>
#include <string>
#include <utility>

// The score is pyctcdecode 0.5.0's LanguageModel. A difference is that no end of a text counts as a
// word: pyctcdecode scores an unknown word, and a word more, for a text without words, or for one
// with a space at its end.

namespace penstock::runtime {
namespace {

constexpr double kUsualCharacters = 6;  // of a word; a longer unknown beginning costs more

}  // namespace

WordScores::Vocabulary::Vocabulary(const NgramModel* model)
    : words(model != nullptr ? model->words() : std::vector<std::string>()) {
  for (std::size_t i = 0; i < words.size(); ++i) numbers.push_back(model->number(words.word(i)));
}

WordScores::WordScores(const WordScoring& scoring, std::shared_ptr<const NgramModel> model,
                       HotWords hot)
    : scoring_(scoring),
      model_(std::move(model)),
      hot_(std::move(hot)),
      vocabulary_(std::make_shared<const Vocabulary>(model_.get())) {}

WordScores WordScores::reweighed(const WordScoring& scoring) const {
  WordScores other = *this;
  other.scoring_ = scoring;
  return other;
}

WordScores::State WordScores::start() const {
  return {.words = model_ ? model_->start() : NgramState(),
          .word = vocabulary_->words.start(),
          .hot = hot_.start()};
}

WordScores::State WordScores::extended(State state, std::string_view text) const {
  while (!text.empty()) {
    if (text.front() == ' ') {
      finish_word(state);
      text.remove_prefix(1);
      continue;
    }
    const std::string_view part = text.substr(0, text.find(' '));
    state.word = vocabulary_->words.extended(state.word, part);
    state.hot = hot_.extended(state.hot, part);
    state.characters += count_characters(part);
    text.remove_prefix(part.size());
  }
  return state;
}

void WordScores::finish_word(State& state) const {
  if (state.characters == 0) return;
  if (model_) add_word(state);
  state.finished += hot_.ended_score(state.hot);
  state.word = vocabulary_->words.start();
  state.hot = hot_.start();
  state.characters = 0;
}

/// Adds what the model and the number of words say of a word that ends.
void WordScores::add_word(State& state) const {
  const auto place = vocabulary_->words.place(state.word);
  const std::uint32_t number = place ? vocabulary_->numbers[*place] : NgramModel::kUnknown;
  const auto [log10, after] = model_->step(state.words, number);
  const double unknown = number == NgramModel::kUnknown ? scoring_.unknown_score : 0;
  state.finished +=
      scoring_.lm_weight * std::numbers::ln10 * (log10 + unknown) + scoring_.word_score;
  state.words = after;
}

double WordScores::score(const State& state) const {
  if (state.characters == 0) return state.finished;
  if (state.hot.begins_words()) return state.finished + hot_.score(state.hot, state.characters);
  if (!model_ || state.word.begins_words()) return state.finished;
  return state.finished +
         scoring_.unknown_score * std::max(1.0, state.characters / kUsualCharacters);
}

double WordScores::ended_score(State state) const {
  finish_word(state);
  if (!model_) return state.finished;
  return state.finished + scoring_.lm_weight * std::numbers::ln10 * model_->end(state.words);
}

}  // namespace penstock::runtime
