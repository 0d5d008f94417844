#include "runtime/trainer/utterance_scorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace penstock::runtime {

void compare(Recognised& heard, const std::string& reference, const EvaluationOptions& options) {
  if (options.references) heard.reference = reference;
  if (options.times_references) return;
  heard.errors = count_errors(reference, heard.text);
  heard.oracle_word_edits = heard.errors.words.edits;
  for (const auto& [text, score] : heard.nbest)
    heard.oracle_word_edits =
        std::min(heard.oracle_word_edits, count_errors(reference, text).words.edits);
}

void UtteranceScorer::decode(const ScoredInputs& inputs) {
  const std::size_t count = inputs.ids.size();
  if (options_.logits)
    for (std::size_t u = 0; u < count; ++u)
      options_.logits(inputs.ids[u], inputs.x_FC[u], inputs.channels);
  std::vector<std::vector<layers::Hypothesis>> found(count);
  std::vector<std::vector<TimedWord>> words(count);
  std::vector<std::string> faults(count);
  parallel_for(count, options_.threads, [&](std::size_t u) {
    found[u] = options_.decoder(inputs.x_FC[u], inputs.channels, tokenizer_.labels());
    const std::uint64_t id = inputs.ids[u];
    try {
      if (options_.word_timer)
        words[u] = timed(id, inputs.x_FC[u], inputs.channels, found[u].front().labels);
    } catch (const DataError& error) {
      faults[u] = fmt::format("{}: {}", corpus_.audio(id).audio.string(), error.what());
    }
  });
  std::vector<std::vector<ErrorCount>> alternatives = count_alternatives(inputs);
  for (std::size_t u = 0; u < count; ++u) {
    if (faults[u].empty())
      tell(inputs.ids[u], found[u],
           {.words = std::move(words[u]), .alternatives = std::move(alternatives[u])});
    else
      tell_failures({{inputs.ids[u], faults[u]}});
  }
}

void UtteranceScorer::take(std::span<const std::uint64_t> ids,
                           std::vector<TextGeneration::Texts> written) {
  for (std::size_t u = 0; u < ids.size(); ++u) {
    for (layers::Hypothesis& one : written[u])
      std::erase_if(one.labels, [&](std::int32_t c) { return c == 0 || c >= tokenizer_.labels(); });
    tell(ids[u], written[u]);
  }
}

void UtteranceScorer::tell_failures(const std::vector<FailedUtterance>& failures) {
  for (const FailedUtterance& utterance : failures) told_.tell_failure(utterance);
}

/// Returns the words of an utterance, which end with its audio.
std::vector<TimedWord> UtteranceScorer::timed(std::uint64_t id, std::span<const float> x_FC,
                                              std::int64_t channels,
                                              const std::vector<std::int32_t>& heard) const {
  std::vector<TimedWord> words =
      options_.word_timer(x_FC, channels, options_.times_references ? corpus_.labels(id) : heard);
  for (TimedWord& word : words) word.end = std::min(word.end, corpus_.lengths[id].seconds());
  return words;
}

/// Returns the errors of each utterance by each alternative, if there are references.
std::vector<std::vector<ErrorCount>> UtteranceScorer::count_alternatives(
    const ScoredInputs& inputs) const {
  std::vector<std::vector<ErrorCount>> errors(inputs.ids.size());
  const std::size_t each = corpus_.labels == nullptr ? 0 : options_.alternatives.size();
  std::vector<std::string> references;
  for (std::size_t u = 0; each > 0 && u < inputs.ids.size(); ++u) {
    errors[u].resize(each);
    references.push_back(tokenizer_.normalised(corpus_.text(inputs.ids[u])));
  }
  parallel_for(inputs.ids.size() * each, options_.threads, [&](std::size_t i) {
    const std::size_t u = i / each, k = i % each;
    const auto found =
        options_.alternatives[k](inputs.x_FC[u], inputs.channels, tokenizer_.labels());
    errors[u][k] = count_errors(references[u], tokenizer_.decode(found.front().labels));
  });
  return errors;
}

/// Tells what was found of an utterance, beside what `heard` has already.
void UtteranceScorer::tell(std::uint64_t id, const std::vector<layers::Hypothesis>& found,
                           Recognised heard) {
  heard.text = tokenizer_.decode(found.front().labels);
  if (options_.decoding.beam > 1) heard.score = found.front().score;
  const auto count = std::min(found.size(), static_cast<std::size_t>(options_.decoding.nbest));
  for (const layers::Hypothesis& one : std::span(found).first(count))
    heard.nbest.push_back({tokenizer_.decode(one.labels), one.score});
  if (corpus_.labels != nullptr) compare(heard, tokenizer_.normalised(corpus_.text(id)), options_);
  told_.tell(id, heard);
}

}  // namespace penstock::runtime
