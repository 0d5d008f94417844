#include "runtime/corpus/corpus_faults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/error.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "runtime/job/consistency.h"
#include "runtime/text/tokenizer.h"

// A wrong alphabet makes almost every transcript of a manifest bad, for the same few characters. So
// bad transcripts are not listed one by one: the tally keeps how many utterances have each
// character, and the places of the first few. The summary ends with settings that fit the data,
// which takes further passes over the transcripts, and only if there is something to report.

namespace penstock::runtime {

namespace {

constexpr std::size_t kPlaces = 5;       // places that are listed
constexpr std::size_t kCharacters = 40;  // characters that are listed

/// Explains why unknown characters include letters of the other case; "" if they don't.
std::string fold_hint(const configs::TextConfig& text,
                      const std::map<char32_t, std::int64_t>& unknown) {
  const bool lower = text.fold == "lower", upper = text.fold == "upper";
  const bool left = std::ranges::any_of(unknown, [&](const auto& item) {
    const char32_t c = item.first;
    return (lower && lower_case(c) != c) || (upper && upper_case(c) != c);
  });
  if (!left) return {};
  return fmt::format(
      "\n    text.fold = {0} folds letters of ASCII and Latin-1 alone; unicode-{0} folds all",
      text.fold);
}

std::string proposal(const CorpusOptions& options, const EachText& each) {
  if (!options.text || options.text->kind != "alphabet") return {};
  const FittedText fitted = fit_text(each, *options.text);
  return fmt::format(
      "\n  These overrides fit all transcripts of this manifest; `penstock data alphabet "
      "MANIFEST…` "
      "prints those that fit several:\n    {}",
      text_overrides(fitted.text, *options.text));
}

}  // namespace

void BadTextTally::add(std::string_view where, const UnknownCharacters& unknown) {
  const std::u32string& all = unknown.characters();
  for (const char32_t c : std::set<char32_t>(all.begin(), all.end())) ++utterances_[c];
  if (places_.size() < kPlaces) places_.emplace_back(where);
  ++count_;
}

std::string BadTextTally::characters() const {
  if (count_ > 1) return describe_characters(utterances_, kCharacters);
  std::u32string all;
  for (const auto& [character, utterances] : utterances_) all += character;
  return listed(all);
}

BadTexts BadTextTally::told(const CorpusOptions& options, const EachText& each) const {
  if (count_ == 0) return {};
  const bool pieces = options.text && options.text->kind != "alphabet";
  std::string summary = fmt::format(
      "\n  {}: {} characters {}{}:{}{}", fmt::join(places_, ", "),
      count_ == 1 ? "the transcript has"
                  : fmt::format("these and others, {} in all, have", counted(count_, "transcript")),
      pieces ? "that no piece of text.model has" : "outside text.alphabet",
      count_ == 1 ? "" : ", each in so many", count_ == 1 ? " " : "\n    ", characters());
  if (options.text) summary += fold_hint(*options.text, utterances_);
  return {count_, summary + proposal(options, each)};
}

// Every rank has the same faults, so all throw, and one message reaches the user.
std::int64_t throw_or_count(comm::Communicator& world, const Faults& faults, const BadTexts& texts,
                            const CorpusOptions& options) {
  const std::int64_t count = static_cast<std::int64_t>(faults.size()) + texts.utterances;
  if (count == 0) return 0;
  const std::string headline =
      fmt::format("{} of {}", counted(count, "utterance"), options.manifest.string());
  const std::string all = faults.listed() + texts.summary;
  if (options.data.bad_utterances != "skip")
    throw DataError(fmt::format("{} cannot be used:{}\n{}", headline, all, options.advice));
  if (world.rank() == 0) spdlog::warn("left out: {}:{}", headline, all);
  return count;
}

void pack(const Faults& faults, Packer& message) {
  message.add(static_cast<std::int64_t>(faults.size()));
  for (const Fault& fault : faults.all()) {
    message.add(fault.where);
    message.add(fault.what);
  }
}

Faults unpack_faults(Unpacker& message) {
  Faults faults;
  for (std::int64_t left = message.number(); left > 0; --left) {
    const std::string where = message.text();
    faults.add(where, message.text());
  }
  return faults;
}

}  // namespace penstock::runtime
