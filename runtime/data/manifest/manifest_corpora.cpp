#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/data/manifest/manifest_formats.h"

namespace penstock::runtime {

// These functions read manifests in the layouts of single corpora: Common Voice, DeepSpeech and
// LibriSpeech. The layouts, in short:
//
//   Common Voice    a TSV whose first line names the columns, with path and sentence among them
//   DeepSpeech      {"root_path": "an4", "samples": [{"wav_path": …, "transcript_path": …}, …]}, or
//                   a CSV of such pairs of paths
//   LibriSpeech     84/121123/84-121123.trans.txt, with lines "84-121123-0001 BUT IT …"; the
//                   recording 84-121123-0001.flac lies beside it

namespace {

/// Returns the folder of the recordings, judged by the first of them: clips/, or the table's own if
/// the recording lies there.
std::filesystem::path recordings_folder(const std::filesystem::path& table,
                                        const std::string& first) {
  std::filesystem::path own = table.parent_path(), clips = own / "clips";
  std::error_code error;
  if (std::filesystem::exists(clips / first, error)) return clips;
  if (std::filesystem::exists(own / first, error)) return own;
  spdlog::warn(
      "{}: its first recording is neither {} nor {}. Common Voice has recordings in clips/ beside "
      "the table",
      table.string(), (clips / first).string(), (own / first).string());
  return clips;
}

bool has_string(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string();
}

}  // namespace

// The folder of recordings is found once, since a look at the file system for each line would be
// slow on network disks.
void read_common_voice(const ManifestReading& reading) {
  std::optional<std::filesystem::path> folder;
  reading.sources.push_back(reading.manifest);
  std::size_t path = 0, sentence = 0, locale = 0;
  bool usable = false;
  for_each_line(reading, reading.manifest, [&](const std::string& line, std::size_t number) {
    const std::vector<std::string> fields = split(line, '\t');
    if (number == 1) {
      const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(fields, name) - fields.begin());
      };
      path = column("path");
      sentence = column("sentence");
      locale = column("locale");
      usable = std::max(path, sentence) < fields.size();
      if (!usable)
        reading.faults.add(reading.at_line(1), "does not name the columns path and sentence");
      return;
    }
    if (!usable) return;
    if (fields.size() <= std::max(path, sentence) || fields[path].empty())
      return reading.faults.add(reading.at_line(number), "has no path or no sentence");
    if (!folder) folder = recordings_folder(reading.manifest, fields[path]);
    reading.add({.audio = *folder / fields[path],
                 .text = trimmed(fields[sentence]),
                 .duration = {},
                 .where = reading.at_line(number),
                 .language = locale < fields.size() ? trimmed(fields[locale]) : ""});
  });
}

void read_deepspeech_json(const ManifestReading& reading) {
  reading.sources.push_back(reading.manifest);
  const auto json = nlohmann::json::parse(read_text(reading, reading.manifest));
  const std::string file = reading.manifest.filename().string();
  if (!json["samples"].is_array())
    return reading.faults.add(file, "its \"samples\" is not an array");
  const auto root = reading.manifest.parent_path() /
                    (has_string(json, "root_path") ? json["root_path"].get<std::string>() : "");
  for (std::size_t i = 0; i < json["samples"].size(); ++i) {
    const auto& sample = json["samples"][i];
    const std::string where = fmt::format("{}:samples[{}]", file, i);
    if (!has_string(sample, "wav_path") || !has_string(sample, "transcript_path"))
      reading.faults.add(where, "needs the strings \"wav_path\" and \"transcript_path\"");
    else
      add_with_text_file(reading, root / sample["wav_path"].get<std::string>(),
                         root / sample["transcript_path"].get<std::string>(), where);
  }
}

void read_deepspeech_csv(const ManifestReading& reading) {
  const auto folder = reading.manifest.parent_path();
  reading.sources.push_back(reading.manifest);
  for_each_line(reading, reading.manifest, [&](const std::string& line, std::size_t number) {
    if (number == 1 && line == "wav,txt") return;
    const std::size_t comma = line.find(',');
    if (comma == std::string::npos || line.find(',', comma + 1) != std::string::npos)
      return reading.faults.add(reading.at_line(number),
                                "is not \"wav,txt\": two paths with one comma between");
    add_with_text_file(reading, folder / trimmed(line.substr(0, comma)),
                       folder / trimmed(line.substr(comma + 1)), reading.at_line(number));
  });
}

// The first recording shows the extension, since many copies of LibriSpeech are no FLAC any more.
void read_librispeech(const ManifestReading& reading) {
  std::string extension;
  for (const auto& file : files_below(reading)) {
    if (!file.string().ends_with(".trans.txt")) continue;
    reading.sources.push_back(file);
    for_each_line(reading, file, [&](const std::string& line, std::size_t number) {
      const std::size_t space = line.find(' ');
      const std::string where = fmt::format("{}:{}", file.filename().string(), number);
      if (space == 0 || space == std::string::npos)
        return reading.faults.add(where, "is not an utterance's name, a space and its text");
      const auto stem = file.parent_path() / line.substr(0, space);
      if (extension.empty()) extension = extension_beside(stem);
      reading.add({stem.string() + extension, trimmed(line.substr(space)), {}, where});
    });
  }
}

}  // namespace penstock::runtime
