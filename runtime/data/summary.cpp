#include "runtime/data/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/atomic_write.h"
#include "base/counted.h"
#include "base/error.h"

namespace penstock::runtime {
namespace {

/// A manifest's usable utterances.
struct Usable {
  std::vector<ManifestEntry> entries;
  std::vector<IndexedAudio> audio;
};

void count_characters(const std::string& text, std::map<std::string, std::int64_t>& characters) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    ++characters[text.substr(i, end - i)];
    i = end;
  }
}

void count(const ManifestEntry& entry, const AudioLength& length, ManifestSummary& summary) {
  constexpr double kExact = 0.01;
  const double seconds = length.seconds();
  summary.shortest = summary.utterances == 0 ? seconds : std::min(summary.shortest, seconds);
  summary.longest = std::max(summary.longest, seconds);
  summary.seconds += seconds;
  summary.utterances += 1;
  const auto bin = static_cast<std::size_t>(seconds);
  if (summary.histogram.size() <= bin) summary.histogram.resize(bin + 1);
  ++summary.histogram[bin];
  ++summary.rates[length.rate];
  count_characters(entry.text, summary.characters);
  if (entry.text.find_first_not_of(' ') == std::string::npos)
    summary.without_text.add(entry.where, entry.audio.string());
  if (entry.duration && std::abs(*entry.duration - seconds) > kExact)
    summary.inexact.add(entry.where,
                        fmt::format("its duration is given as {:f} s, but {} lasts {:f} s",
                                    *entry.duration, entry.audio.string(), seconds));
}

/// Appends a manifest's usable utterances and counts what it holds.
void read(const IndexOptions& options, Usable& usable, ManifestSummary& summary) {
  summary.format = name_of(manifest_format(options.manifest));
  std::vector<ManifestEntry> entries = read_manifest(options.manifest, summary.rejected);
  const std::vector<IndexedAudio> index = index_audio(entries, options);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!index[i].fault.empty()) {
      summary.rejected.add(entries[i].where, index[i].fault);
      continue;
    }
    count(entries[i], index[i].length, summary);
    usable.entries.push_back(std::move(entries[i]));
    usable.audio.push_back(index[i]);
  }
}

/// Seconds as people write them, of whole recordings; of segments such that they give the same
/// samples again.
void add_times(const IndexedAudio& utterance, nlohmann::ordered_json& line) {
  const double seconds = utterance.length.seconds();
  if (!utterance.first) {
    line["duration"] = std::max(std::round(seconds * 1000), 1.0) / 1000;
    return;
  }
  line["offset"] = static_cast<double>(*utterance.first) / utterance.length.rate;
  line["duration"] = seconds;
}

std::string json_line(const ManifestEntry& entry, const IndexedAudio& utterance,
                      const MakeOptions& options) {
  const auto audio = std::filesystem::absolute(entry.audio).lexically_normal();
  const auto folder = std::filesystem::absolute(options.output).lexically_normal().parent_path();
  nlohmann::ordered_json line = {
      {"audio_filepath",
       options.absolute_paths ? audio.string() : audio.lexically_proximate(folder).string()}};
  add_times(utterance, line);
  line["text"] = entry.text;
  try {
    return line.dump() + "\n";
  } catch (const nlohmann::json::exception&) {
    throw DataError(fmt::format("{}: its text or path is not UTF-8", entry.where));
  }
}

}  // namespace

ManifestSummary summarise(const std::filesystem::path& manifest, IndexOptions options) {
  options.manifest = manifest;
  Usable usable;
  ManifestSummary summary;
  read(options, usable, summary);
  return summary;
}

ManifestSummary make_manifest(const MakeOptions& options) {
  Usable usable;
  ManifestSummary summary;
  for (const auto& input : options.inputs)
    read({input, options.output.parent_path(), options.threads, false}, usable, summary);
  if (!options.skip_bad)
    summary.rejected.require_none(
        fmt::format("{} cannot be used", counted(summary.rejected.size(), "utterance")),
        "Correct them, or leave them out by --skip-bad.");
  if (usable.entries.empty()) throw DataError("there are no utterances to write");
  std::string text;
  for (std::size_t i = 0; i < usable.entries.size(); ++i)
    text += json_line(usable.entries[i], usable.audio[i], options);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::absolute(options.output).parent_path(),
                                      error);
  if (!atomic_write(options.output, text))
    throw DataError(options.output.string() + ": cannot be written");
  summary.format = name_of(ManifestFormat::json_lines);
  return summary;
}

}  // namespace penstock::runtime
