#include "tools/reports/timed_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/terminal.h"

namespace penstock::tools {
namespace {

/// Returns a text without blanks, which separate the fields of CTM.
std::string as_field(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) <= ' '; }, '_');
  return text.empty() ? "<unk>" : text;
}

}  // namespace

double seconds_before(const runtime::AudioSource& source) {
  return static_cast<double>(source.first.value_or(0)) / source.length.rate;
}

std::string aligned_line(const runtime::JudgedUtterance& utterance) {
  const runtime::AudioSource& source = utterance.source;
  nlohmann::ordered_json line{{"audio_filepath", source.audio.string()}};
  if (source.first) line["offset"] = seconds_before(source);
  line["duration"] = source.length.seconds();
  if (utterance.recognised.fault.empty()) {
    line["text"] = utterance.recognised.reference;
    add_words(line, utterance.recognised.words);
  } else {
    line["error"] = utterance.recognised.fault;
  }
  return json_line(line);
}

std::string aligned_ctm(const runtime::JudgedUtterance& utterance) {
  std::string lines;
  for (const runtime::TimedWord& word : utterance.recognised.words)
    lines += fmt::format("{} 1 {:.3f} {:.3f} {} {:.3f}\n",
                         as_field(utterance.source.audio.stem().string()),
                         seconds_before(utterance.source) + word.start, word.end - word.start,
                         as_field(word.word), word.confidence);
  return lines;
}

}  // namespace penstock::tools
