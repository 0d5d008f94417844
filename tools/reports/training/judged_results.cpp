#include "tools/reports/training/judged_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/json_nesting.h"

namespace penstock::tools {
namespace {

using JudgedJson = nlohmann::json;

void operator+=(EditTally& sum, const EditTally& each) {
  sum.utterances += each.utterances;
  sum.word_edits += each.word_edits;
  sum.words += each.words;
  sum.character_edits += each.character_edits;
  sum.characters += each.characters;
}

/// Returns true if `a` is a worse utterance than `b`. Rates are compared by cross products; a text
/// without words counts as one of one word.
bool is_worse(const JudgedText& a, const JudgedText& b) {
  const auto words = [](const JudgedText& each) {
    return std::max<std::int64_t>(1, each.edits.words);
  };
  const auto left = static_cast<double>(a.edits.word_edits) * static_cast<double>(words(b));
  const auto right = static_cast<double>(b.edits.word_edits) * static_cast<double>(words(a));
  if (left != right) return left > right;
  return a.edits.word_edits > b.edits.word_edits;
}

JudgedText judged_text(const JudgedJson& line) {
  JudgedText text{.audio = line.at("audio_filepath"),
                  .reference = line.at("reference"),
                  .hypothesis = line.at("hypothesis"),
                  .duration = line.value("duration", 0.0)};
  if (line.contains("offset")) text.offset = line.at("offset").get<double>();
  text.edits = {.utterances = 1,
                .word_edits = line.at("word_edits"),
                .words = line.at("words"),
                .character_edits = line.at("character_edits"),
                .characters = line.at("characters")};
  return text;
}

/// Adds a line. Throws JudgedJson::exception if it is none of such a file.
void add_judged(JudgedResults& results, const JudgedJson& line, std::size_t worst) {
  if (line.contains("error")) {
    ++results.failed;
    return;
  }
  JudgedText text = judged_text(line);
  results.all += text.edits;
  if (line.contains("manifest")) results.manifests[line.at("manifest")] += text.edits;
  if (line.contains("by"))
    for (const auto& [field, value] : line.at("by").items())
      results.fields[field][value.get<std::string>()] += text.edits;
  if (text.edits.word_edits == 0) return;
  const auto place = std::ranges::upper_bound(results.worst, text, is_worse);
  results.worst.insert(place, std::move(text));
  if (results.worst.size() > worst) results.worst.pop_back();
}

}  // namespace

JudgedResults read_judged_results(const std::filesystem::path& file, std::size_t worst) {
  const std::string bytes = [&] {
    try {
      return read_file(file);
    } catch (const FileError& error) {
      throw DataError(fmt::format("--results: {}", error.what()));
    }
  }();
  JudgedResults results{.file = file.string()};
  std::string_view text = bytes;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const bool last = end == std::string_view::npos;
    text.remove_prefix(last ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const JudgedJson json = json_nests_too_deeply(line) ? JudgedJson(JudgedJson::value_t::discarded)
                                                        : JudgedJson::parse(line, nullptr, false);
    if (last && json.is_discarded()) break;
    try {
      add_judged(results, json, worst);
    } catch (const JudgedJson::exception&) {
      throw DataError(
          fmt::format("--results: {}:{} is no line that penstock evaluate --results writes, with "
                      "audio_filepath, reference, hypothesis and counts of edits",
                      file.string(), number));
    }
  }
  return results;
}

}  // namespace penstock::tools
