#include "runtime/data/manifest/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_files.h"

// Everything is counted from the manifest's index, so recordings are read only where the index must
// be made. A made manifest states the exact lengths again. Milliseconds suffice for whole
// recordings, since their durations are hints. A segment's offset and duration are what its samples
// are computed from, so they are written with all digits of a double.

namespace penstock::runtime {
namespace {

// A character of UTF-8 is a byte and the continuation bytes after it, which begin with the bits 10.
void count_characters(std::string_view text, std::map<std::string, std::int64_t>& characters) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) ++end;
    ++characters[std::string(text.substr(i, end - i))];
    i = end;
  }
}

/// The index of a manifest and what its paths start from.
struct ReadManifest {
  UtteranceIndex index;
  std::filesystem::path folder;
  const RemoteFiles* files;

  std::filesystem::path recording(std::size_t utterance) const {
    const std::string name(index.path(utterance));
    return files == nullptr ? folder / name : files->path(folder, name);
  }
  /// Returns the name of an utterance's recording for messages.
  std::string name(std::size_t utterance) const {
    const std::filesystem::path path = recording(utterance);
    return manifest_name(files == nullptr ? path.string() : files->name(path));
  }
};

void count(const ReadManifest& manifest, std::size_t utterance, ManifestSummary& summary) {
  const UtteranceIndex& index = manifest.index;
  constexpr double kExact = 0.01;
  const AudioLength length = index.length(utterance);
  const double seconds = length.seconds();
  summary.shortest = summary.utterances == 0 ? seconds : std::min(summary.shortest, seconds);
  summary.longest = std::max(summary.longest, seconds);
  summary.seconds += seconds;
  summary.utterances += 1;
  const auto bin = static_cast<std::size_t>(seconds);
  if (summary.histogram.size() <= bin) summary.histogram.resize(bin + 1);
  ++summary.histogram[bin];
  ++summary.rates[length.rate];
  count_characters(index.text(utterance), summary.characters);
  const std::string where(index.where(utterance));
  if (index.text(utterance).find_first_not_of(' ') == std::string_view::npos)
    summary.without_text.add(where, manifest.name(utterance));
  const auto duration = index.duration(utterance);
  if (duration && std::abs(*duration - seconds) > kExact)
    summary.inexact.add(where, fmt::format("its duration is given as {:f} s, but {} lasts {:f} s",
                                           *duration, manifest.name(utterance), seconds));
}

/// Reads a manifest's index and counts its contents.
ReadManifest read(IndexOptions options, ManifestSummary& summary) {
  std::optional<LocalFile> kept;  // in the cache meanwhile
  if (options.files != nullptr) {
    kept.emplace(options.files->open_manifest(options.manifest.string()));
    options.manifest = kept->path;
  }
  summary.format = name_of(manifest_format(options.manifest));
  ReadManifest manifest{find_index(options).index, folder_of(options.manifest), options.files};
  for (const IndexFault& fault : manifest.index.faults())
    summary.rejected.add(fault.where, fault.what);
  for (std::size_t u = 0; u < manifest.index.size(); ++u) count(manifest, u, summary);
  return manifest;
}

/// Adds an utterance's times to a line. Whole recordings get milliseconds; segments get enough
/// digits to yield the same samples again.
void add_times(const UtteranceIndex& index, std::size_t utterance, nlohmann::ordered_json& line) {
  const AudioLength length = index.length(utterance);
  const auto first = index.first(utterance);
  if (!first) {
    line["duration"] = std::max(std::round(length.seconds() * 1000), 1.0) / 1000;
    return;
  }
  line["offset"] = static_cast<double>(*first) / length.rate;
  line["duration"] = length.seconds();
}

/// Returns the path of a recording as the written manifest spells it.
std::string written_path(const std::filesystem::path& recording, const MakeOptions& options) {
  if (options.files != nullptr && options.files->holds(recording))
    return manifest_name(options.files->name(recording));
  const auto file = std::filesystem::absolute(file_holding(recording)).lexically_normal();
  const auto folder = std::filesystem::absolute(options.output).lexically_normal().parent_path();
  const auto member = tar_member(recording.native());
  return (options.absolute_paths ? file : file.lexically_proximate(folder)).string() +
         (member ? ":" + member->name : "");
}

std::string json_line(const UtteranceIndex& index, std::size_t utterance,
                      const std::filesystem::path& recording, const MakeOptions& options) {
  nlohmann::ordered_json line = {{"audio_filepath", written_path(recording, options)}};
  add_times(index, utterance, line);
  line["text"] = index.text(utterance);
  try {
    return line.dump() + "\n";
  } catch (const nlohmann::json::exception&) {
    throw DataError(fmt::format("{}: its text or path is not UTF-8", index.where(utterance)));
  }
}

}  // namespace

ManifestSummary summarise(const std::filesystem::path& manifest, IndexOptions options) {
  options.manifest = manifest;
  ManifestSummary summary;
  (void)read(options, summary);
  return summary;
}

ManifestSummary make_manifest(const MakeOptions& options) {
  ManifestSummary summary;
  std::vector<ReadManifest> manifests;
  for (const auto& input : options.inputs)
    manifests.push_back(read({.manifest = input,
                              .cache = options.cache,
                              .threads = options.threads,
                              .use = IndexUse::checked,
                              .files = options.files},
                             summary));
  if (!options.skip_bad)
    summary.rejected.require_none(
        fmt::format("{} cannot be used", counted(summary.rejected.size(), "utterance")),
        "Correct them, or leave them out by --skip-bad.");
  if (summary.utterances == 0) throw DataError("there are no utterances to write");
  std::string text;
  for (const ReadManifest& manifest : manifests)
    for (std::size_t u = 0; u < manifest.index.size(); ++u)
      text += json_line(manifest.index, u, manifest.recording(u), options);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::absolute(options.output).parent_path(),
                                      error);
  if (!atomic_write(options.output, text))
    throw DataError(options.output.string() + ": cannot be written");
  summary.format = name_of(ManifestFormat::json_lines);
  return summary;
}

}  // namespace penstock::runtime
