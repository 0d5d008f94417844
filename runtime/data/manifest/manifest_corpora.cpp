#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/missing_manifest.h"

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

/// The recordings of a Common Voice: in clips/, or beside the table. Many copies are no MP3 any
/// more, so their extension may be another than in the table. The first recording that is there
/// shows both.
class CommonVoiceClips {
 public:
  explicit CommonVoiceClips(const std::filesystem::path& table)
      : table_(table), folder_(table.parent_path() / "clips") {}

  /// Returns the recording of this name in the table. Until one is found, it is in clips/.
  std::filesystem::path recording(const std::string& name) {
    if (!found_ && tried_ < SharedExtension::kTried) look_for(name);
    std::filesystem::path path = folder_ / name;
    if (!shared_.empty() && path.extension() == named_) path.replace_extension(shared_);
    return path;
  }

  void warn_if_none_is_there() const {
    if (found_ || tried_ == 0) return;
    spdlog::warn(
        "{}: its first recording is neither {} nor {}. Common Voice has recordings in clips/ "
        "beside the table",
        table_.string(), (folder_ / first_).string(), (table_.parent_path() / first_).string());
  }

 private:
  void look_for(const std::string& name) {
    if (tried_++ == 0) first_ = name;
    const std::filesystem::path own = table_.parent_path();
    for (const auto& folder : {own / "clips", own}) {
      std::filesystem::path stem = folder / name;
      const std::string named = stem.extension().string();
      const bool there = exists_at(stem);
      const std::string beside = there ? "" : extension_beside(stem.replace_extension());
      if (!there && beside.empty()) continue;
      found_ = true;
      folder_ = folder;
      named_ = named;
      shared_ = beside;
      return;
    }
  }

  std::filesystem::path table_, folder_;
  std::string first_;           // the name of the first recording
  std::string named_, shared_;  // extensions in the table and of the files; "" if they are as named
  bool found_ = false;
  int tried_ = 0;
};

bool has_string(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string();
}

}  // namespace

// The folder of recordings is found once, since a look at the file system for each line would be
// slow on network disks. Editors remove tabs at a line's end, so the last fields may be missing.
void read_common_voice(const ManifestReading& reading) {
  CommonVoiceClips clips(reading.manifest);
  reading.sources.push_back(reading.manifest);
  std::vector<std::string> header;
  std::size_t path = 0, sentence = 0, locale = 0;
  for_each_line(reading, reading.manifest, [&](const std::string& line, std::size_t number) {
    const std::vector<std::string> fields = split(line, '\t');
    const std::string where = reading.at_line(number);
    if (header.empty()) {
      header = fields;
      const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(fields, name) - fields.begin());
      };
      path = column("path");
      sentence = column("sentence");
      locale = column("locale");
      return;
    }
    if (fields == header) return reading.faults.add(where, kRepeatedHeader);
    if (fields.size() <= std::max(path, sentence) || fields[path].empty())
      return reading.faults.add(where, "has no path or no sentence");
    if (fields.size() > header.size())
      return reading.faults.add(
          where, fmt::format("has {}, but the first line names {}: a sentence may have a tab",
                             counted(std::ssize(fields), "field"), header.size()));
    reading.add({.audio = clips.recording(fields[path]),
                 .text = trimmed(fields[sentence]),
                 .duration = {},
                 .where = where,
                 .language = locale < fields.size() ? trimmed(fields[locale]) : ""});
  });
  clips.warn_if_none_is_there();
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
  SharedExtension extension;
  for (const auto& file : files_below(reading)) {
    if (!file.string().ends_with(".trans.txt")) continue;
    reading.sources.push_back(file);
    for_each_line(reading, file, [&](const std::string& line, std::size_t number) {
      const std::size_t space = line.find(' ');
      const std::string where = reading.at_line(file, number);
      if (space == 0 || space == std::string::npos)
        return reading.faults.add(where, "is not an utterance's name, a space and its text");
      const auto stem = file.parent_path() / line.substr(0, space);
      reading.add({extension.recording(stem), trimmed(line.substr(space)), {}, where});
    });
  }
}

}  // namespace penstock::runtime
