#include <fmt/format.h>

#include <charconv>
#include <map>
#include <sstream>

#include "runtime/data/manifest/manifest_formats.h"

// Joins Kaldi's tables: an utterance of `text` names a recording of `wav.scp`, or a part of one in
// `segments`. Faults are collected and reading goes on, so one run reports them all. An utterance
// without its counterpart is a fault in either direction, except that a recording may be unused.
//
// Kaldi's tables have a name and its value in each line:
//
//   wav.scp     rec1 /data/rec1.wav
//   segments    utt1 rec1 0.0 2.5         recording, begin and end in seconds; -1: its end
//   text        utt1 HELLO WORLD
//   utt2lang    utt1 en                   it may be missing, or lack utterances

namespace penstock::runtime {
namespace {

/// An utterance's name and the rest of its line.
struct KaldiLine {
  std::string name, rest;
  std::string where;  // "wav.scp:3"
};

/// Reads a table of Kaldi's. A line without content after the name is a fault, and so is a repeated
/// name.
std::map<std::string, KaldiLine> read_table(const ManifestReading& reading, const char* name) {
  const auto file = reading.manifest / name;
  Faults& faults = reading.faults;
  reading.sources.push_back(file);
  std::map<std::string, KaldiLine> table;
  for_each_line(reading, file, [&](const std::string& text, std::size_t number) {
    const std::string line = trimmed(text);
    const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
    KaldiLine read{line.substr(0, space), trimmed(line.substr(space)),
                   fmt::format("{}:{}", file.filename().string(), number)};
    if (read.rest.empty())
      return faults.add(read.where, fmt::format("has nothing after \"{}\"", read.name));
    const std::string name = read.name, where = read.where;
    if (!table.emplace(name, std::move(read)).second)
      faults.add(where, fmt::format("names \"{}\" a second time", name));
  });
  return table;
}

/// Describes the problem with a recording in wav.scp; "" if there is none.
std::string fault_of(const std::string& recording) {
  if (recording.ends_with('|'))
    return fmt::format(
        "is the command \"{}\", but penstock runs none: convert the recordings into files",
        recording);
  if (recording.find(".ark:") != std::string::npos)
    return fmt::format("names a Kaldi archive, \"{}\", but a sound file is needed", recording);
  return {};
}

/// Resolves a recording's path. Kaldi's paths start from the folder in which its recipe runs. A
/// recording beside the tables is found in any case.
std::filesystem::path recording_path(const std::filesystem::path& folder,
                                     const std::string& recording) {
  std::error_code error;
  const bool beside = std::filesystem::exists(folder / recording, error);
  return beside ? folder / recording : std::filesystem::path(recording);
}

/// A line of segments: the recording, and the seconds at which the segment begins and ends.
struct KaldiSegment {
  std::string recording;
  double begin = 0, end = 0;
};

std::optional<KaldiSegment> segment_of(const KaldiLine& line) {
  std::istringstream fields(line.rest);
  KaldiSegment segment;
  std::string more;
  if (!(fields >> segment.recording >> segment.begin >> segment.end) || fields >> more)
    return std::nullopt;
  return segment;
}

class KaldiFolder {
 public:
  explicit KaldiFolder(const ManifestReading& reading)
      : reading_(reading), recordings_(read_table(reading, "wav.scp")) {
    if (std::filesystem::exists(reading.manifest / "utt2lang")) read_languages();
    for (auto line = recordings_.begin(); line != recordings_.end();) {
      const std::string fault = fault_of(line->second.rest);
      if (!fault.empty()) reading.faults.add(line->second.where, fault);
      line = fault.empty() ? std::next(line) : recordings_.erase(line);
    }
  }

  /// Adds a whole recording as one utterance.
  void add(const KaldiLine& text) const { add(text, text.name, {}); }

  void add(const KaldiLine& text, const KaldiLine& line) const {
    const auto segment = segment_of(line);
    if (!segment)
      return reading_.faults.add(
          line.where, "is not an utterance, its recording, and the seconds of its begin and end");
    if (segment->begin < 0 || (segment->end != -1 && segment->end <= segment->begin))
      return reading_.faults.add(line.where, fmt::format("it begins at {:g} s and ends at {:g} s",
                                                         segment->begin, segment->end));
    add(text, segment->recording, segment);
  }

 private:
  /// Reads utt2lang. Most recipes need no languages, so a bad line is passed over.
  void read_languages() {
    const auto file = reading_.manifest / "utt2lang";
    reading_.sources.push_back(file);
    for_each_line(reading_, file, [&](const std::string& text, std::size_t) {
      const std::string line = trimmed(text);
      const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
      languages_[line.substr(0, space)] = trimmed(line.substr(space));
    });
  }

  void add(const KaldiLine& text, const std::string& recording,
           const std::optional<KaldiSegment>& segment) const {
    const auto found = recordings_.find(recording);
    if (found == recordings_.end())
      return reading_.faults.add(
          text.where, fmt::format("wav.scp has no recording \"{}\" that can be used", recording));
    ManifestEntry entry{
        recording_path(reading_.manifest, found->second.rest), text.rest, {}, text.where};
    if (segment) {
      entry.offset = segment->begin;
      if (segment->end != -1) entry.duration = segment->end - segment->begin;  // -1: to the end
    }
    const auto language = languages_.find(text.name);
    if (language != languages_.end()) entry.language = language->second;
    reading_.add(std::move(entry));
  }

  const ManifestReading& reading_;
  std::map<std::string, KaldiLine> recordings_;
  std::map<std::string, std::string> languages_;
};

}  // namespace

void read_kaldi(const ManifestReading& reading) {
  const KaldiFolder folder(reading);
  const auto texts = read_table(reading, "text");
  // The folder's time of change shows whether `segments` was added or removed.
  reading.sources.push_back(reading.manifest);
  if (!std::filesystem::exists(reading.manifest / "segments")) {
    for (const auto& [name, text] : texts) folder.add(text);
    return;
  }
  const auto segments = read_table(reading, "segments");
  for (const auto& [name, text] : texts) {
    const auto segment = segments.find(name);
    if (segment != segments.end())
      folder.add(text, segment->second);
    else
      reading.faults.add(text.where, fmt::format("segments has no utterance \"{}\"", name));
  }
  for (const auto& [name, segment] : segments)
    if (!texts.contains(name))
      reading.faults.add(segment.where, fmt::format("text has no utterance \"{}\"", name));
}

}  // namespace penstock::runtime
