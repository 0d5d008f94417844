#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "runtime/data/manifest/json_line.h"

// Lhotse's manifests are JSON lines, compressed by gzip as a rule:
//
//   x_recordings_train.jsonl.gz    {"id": "a", "sources": [{"type": "file", "source": "a.wav", …}],
//                                   "duration": 2.5, …}
//   x_supervisions_train.jsonl.gz  {"id": "a-0", "recording_id": "a", "start": 0.5, "duration": 1,
//                                   "text": "HELLO", "language": "English", …}
//   x_cuts_train.jsonl.gz          {"type": "MonoCut", "start": 0, "duration": 2.5, "recording":
//                                   {…}, "supervisions": [{…, times from the cut's start}], …}
//
// Lhotse computes while it loads: a recording may be a command, parts of several files, or changed
// by transforms. What it would compute can't be found in a file, so such recordings are refused by
// name. Resampling is the exception, since times are seconds and penstock resamples by itself.
//
// A relative path starts from the folder in which Lhotse ran, which is often the manifest's. The
// first recording decides which it is, as for Common Voice: a look at the file system for each line
// would be slow on network disks.
//
// Each supervision is an utterance, as after CutSet.trim_to_supervisions(). Cuts are read one at a
// time. For supervisions, all recordings are in memory.

namespace penstock::runtime {
namespace {

/// Distance in seconds below which a span is the whole recording. Lhotse rounds to fewer digits.
constexpr double kExactly = 1e-3;

void require_file(const std::string& type, const std::string& source) {
  if (type == "file" || type == "url") return;
  if (type == "command")
    throw DataError(
        fmt::format("its recording is the command \"{}\", but penstock runs none: "
                    "convert the recordings into files, by CutSet.save_audios()",
                    source));
  if (type == "shar")
    throw DataError(
        "its recording lies in Lhotse's Shar: write files of it, by "
        "CutSet.from_shar(…).save_audios(…), and list the cuts that this returns");
  throw DataError(
      fmt::format("its recording has a source of type \"{}\", but \"file\" or \"url\" "
                  "is needed: write files, by CutSet.save_audios()",
                  type));
}

void require_unchanged(const nlohmann::json& recording) {
  for (const auto& transform : part_in(recording, "transforms")) {
    const std::string name = string_in(transform, "name").value_or(transform.dump());
    if (name == "Resample") continue;
    throw DataError(fmt::format(
        "Lhotse changes its recording by {} while it loads: list the cuts before that, and change "
        "recordings by [augment] and data.speeds, or write what is heard, by CutSet.save_audios()",
        name));
  }
}

/// A recording of Lhotse's that is one sound file, as it is.
struct LhotseRecording {
  std::filesystem::path sound;
  double seconds = 0;
  std::size_t channels = 1;
};

/// A span of a recording, in seconds.
struct LhotseSpan {
  double start = 0, seconds = 0;
};

/// Finds the sound files that Lhotse's manifests name.
class LhotseSounds {
 public:
  /// Keeps the reference.
  explicit LhotseSounds(const ManifestReading& reading) : reading_(reading) {}

  /// Returns a recording. Throws DataError that says why it can't be read as it is.
  [[nodiscard]] LhotseRecording recording(const nlohmann::json& recording);

 private:
  std::filesystem::path located(const std::string& source);

  const ManifestReading& reading_;
  std::optional<std::filesystem::path> folder_ = {};  // start of relative paths
};

std::filesystem::path LhotseSounds::located(const std::string& source) {
  const std::filesystem::path beside = reading_.manifest.parent_path();
  if (std::filesystem::path(source).is_absolute() || source.find("://") != std::string::npos)
    return beside / source;
  if (!folder_) {
    const bool remote = reading_.files != nullptr && reading_.files->holds(reading_.manifest);
    std::error_code error;
    folder_ = remote || std::filesystem::exists(beside / source, error) ||
                      !std::filesystem::exists(source, error)
                  ? beside
                  : std::filesystem::path();
  }
  return *folder_ / source;
}

LhotseRecording LhotseSounds::recording(const nlohmann::json& recording) {
  const nlohmann::json& sources = part_in(recording, "sources");
  if (!sources.is_array() || sources.empty()) throw DataError("its recording has no \"sources\"");
  if (sources.size() > 1)
    throw DataError(
        fmt::format("its recording has {} files, one or more channels in each: write "
                    "one file, by CutSet.save_audios()",
                    sources.size()));
  const auto source = string_in(sources[0], "source");
  require_file(string_in(sources[0], "type").value_or(""), source.value_or(""));
  if (!source || source->empty()) throw DataError("its recording names no \"source\"");
  require_unchanged(recording);
  const auto seconds = number_in(recording, "duration");
  if (!seconds || *seconds <= 0)
    throw DataError("its recording has no \"duration\" above 0 seconds");
  return {located(*source), *seconds, part_in(sources[0], "channels").size()};
}

/// Returns the span of a cut or a supervision. Throws DataError without a "start" and a "duration"
/// above 0.
LhotseSpan span_in(const nlohmann::json& object) {
  const auto start = number_in(object, "start"), seconds = number_in(object, "duration");
  if (!start) throw DataError("has no \"start\" that is a number of seconds");
  if (!seconds || *seconds <= 0) throw DataError("has no \"duration\" above 0 seconds");
  return {*start, *seconds};
}

/// Throws DataError if a cut or a supervision hears a single channel of several, which penstock
/// would mix.
void require_all_channels(const nlohmann::json& object, const LhotseRecording& recording) {
  const auto channel = object.find("channel");
  if (recording.channels < 2 || channel == object.end() || channel->is_array()) return;
  throw DataError(
      fmt::format("is of channel {} of {}, but penstock mixes channels: write a file for each, by "
                  "CutSet.save_audios()",
                  channel->dump(), recording.channels));
}

/// Returns an utterance: a span of a recording, or all of it.
ManifestEntry make_entry(const LhotseRecording& recording, const LhotseSpan& span) {
  ManifestEntry entry{recording.sound, {}, span.seconds, {}};
  const bool whole =
      std::abs(span.start) < kExactly && std::abs(span.seconds - recording.seconds) < kExactly;
  if (!whole) entry.offset = span.start;
  return entry;
}

/// Seconds by which a supervision may pass the ends of its cut. Lhotse rounds times.
constexpr double kSlack = 0.01;

void require_mono(const nlohmann::json& cut) {
  const std::string type = string_in(cut, "type").value_or("MonoCut");
  if (type == "MonoCut") return;
  if (type == "MixedCut")
    throw DataError(
        "is a MixedCut, which Lhotse pads, joins or mixes while it loads: list the cuts before "
        "that, since penstock pads nothing and adds noise by [augment], or write what is heard, by "
        "CutSet.save_audios()");
  if (type == "PaddingCut")
    throw DataError("is a PaddingCut, which is silence without a file: leave it out");
  if (type == "MultiCut")
    throw DataError(
        "is a MultiCut of several channels: make MonoCuts of them, by MultiCut.to_mono(), and "
        "write a file for each, by CutSet.save_audios()");
  throw DataError(fmt::format("is a {}, but only MonoCuts are read", type));
}

/// Throws DataError if a cut has no recording, and says what it has.
void require_recording(const nlohmann::json& cut) {
  if (!part_in(cut, "recording").empty()) return;
  throw DataError(fmt::format(
      "has {}: penstock computes features by itself, so make cuts of recordings, by lhotse cut "
      "simple -r RECORDINGS -s SUPERVISIONS CUTS",
      part_in(cut, "features").empty() ? "no \"recording\"" : "features, but no recording"));
}

/// Returns the part of a cut or a recording that a supervision describes, from the recording's
/// start. The error ends with the advice.
LhotseSpan span_within(const LhotseSpan& whole, const nlohmann::json& supervision,
                       std::string_view advice) {
  const LhotseSpan own = span_in(supervision);
  const double end = own.start + own.seconds;
  const double first = std::max(own.start, 0.0), last = std::min(end, whole.seconds);
  if (own.start < -kSlack || end > whole.seconds + kSlack || last <= first)
    throw DataError(fmt::format(
        "lasts from {:g} to {:g} s, but there are {:g} s: no text may say more than is heard. {}",
        own.start, end, whole.seconds, advice));
  return {whole.start + first, last - first};
}

/// Fills in what a supervision says of its utterance.
void take_text(const nlohmann::json& supervision, ManifestEntry& entry) {
  const auto text = string_in(supervision, "text");
  if (!text) throw DataError("has no \"text\"");
  entry.text = trimmed(*text);
  entry.language = trimmed(string_in(supervision, "language").value_or(""));
}

/// Calls use() and names the supervision in what it throws.
template <class Use>
void for_supervision(const nlohmann::json& supervision, Use use) try {
  use();
} catch (const DataError& error) {
  throw DataError(fmt::format("its supervision \"{}\" {}",
                              string_in(supervision, "id").value_or(""), error.what()));
}

void add_cut(const ManifestReading& reading, const nlohmann::json& cut, const std::string& where,
             LhotseSounds& sounds) {
  require_mono(cut);
  require_recording(cut);
  const LhotseSpan span = span_in(cut);
  if (span.start < 0) throw DataError(fmt::format("starts at {:g} s", span.start));
  const LhotseRecording recording = sounds.recording(part_in(cut, "recording"));
  require_all_channels(cut, recording);
  if (!reading.texts) {
    ManifestEntry entry = make_entry(recording, span);
    entry.where = where;
    return reading.add(std::move(entry));
  }
  const nlohmann::json& supervisions = part_in(cut, "supervisions");
  if (supervisions.empty())
    throw DataError(
        "has no supervision, and so no text: leave such cuts out, by CutSet.filter(lambda cut: "
        "cut.supervisions)");
  for (const auto& supervision : supervisions)
    for_supervision(supervision, [&] {
      ManifestEntry entry = make_entry(
          recording,
          span_within(span, supervision,
                      "Cut anew, by CutSet.truncate(…, keep_excessive_supervisions=False)"
                      " or lhotse cut trim-to-supervisions"));
      take_text(supervision, entry);
      entry.where = where;
      reading.add(std::move(entry));
    });
}

/// Calls use(json, where) for each object of a manifest. What it throws is a fault of that line.
template <class Use>
void for_each_object(const ManifestReading& reading, const std::filesystem::path& file, Use use) {
  reading.sources.push_back(file);
  for_each_line(reading, file, [&](const std::string& line, std::size_t number) {
    const std::string where = reading.at_line(file, number);
    const auto json = json_in_line<nlohmann::json>(reading, line, where);
    if (!json) return;
    try {
      if (!json->is_object()) throw DataError("is not a JSON object");
      use(*json, where);
    } catch (const DataError& error) {
      reading.faults.add(where, error.what());
    }
  });
}

/// Returns the names that the manifest `kind` may have beside this one, compressed or not.
std::vector<std::filesystem::path> names_beside(const std::filesystem::path& manifest,
                                                std::string_view own, std::string_view kind) {
  std::string name = manifest.filename().string();
  const std::size_t at = name.find(own);
  if (at == std::string::npos) return {};
  name.replace(at, own.size(), kind);
  const std::string plain = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  const auto folder = manifest.parent_path();
  return {folder / name, folder / (plain == name ? name + ".gz" : plain)};
}

/// Returns the recordings beside supervisions.
std::filesystem::path find_recordings(const ManifestReading& reading) {
  const auto names = names_beside(reading.manifest, "supervisions", "recordings");
  std::error_code error;
  for (const auto& name : names)
    if (std::filesystem::exists(name, error)) return name;
  throw DataError(fmt::format(
      "manifest {}: holds Lhotse's supervisions, but {}: put them there, or make cuts of both, by "
      "lhotse cut simple -r RECORDINGS -s {} CUTS.jsonl.gz, and name those",
      reading.manifest.string(),
      names.empty() ? "its name has no \"supervisions\", for which \"recordings\" could stand"
                    : fmt::format("the recordings are not at {}", names[0].string()),
      reading.manifest.filename().string()));
}

}  // namespace

void read_lhotse_cuts(const ManifestReading& reading) {
  LhotseSounds sounds(reading);
  for_each_object(reading, reading.manifest,
                  [&](const nlohmann::json& cut, const std::string& where) {
                    add_cut(reading, cut, where, sounds);
                  });
}

// A recording that can't be read is a fault of the supervisions that need it, if any does.
void read_lhotse_supervisions(const ManifestReading& reading) {
  std::unordered_map<std::string, std::pair<LhotseRecording, std::string>> recordings;
  LhotseSounds sounds(reading);
  const std::filesystem::path beside = find_recordings(reading);
  for_each_object(reading, beside, [&](const nlohmann::json& json, const std::string&) {
    const auto id = string_in(json, "id");
    if (!id) throw DataError("has no \"id\"");
    auto& [recording, fault] = recordings[*id];
    try {
      recording = sounds.recording(json);
    } catch (const DataError& error) {
      fault = error.what();
    }
  });
  for_each_object(
      reading, reading.manifest, [&](const nlohmann::json& supervision, const std::string& where) {
        const std::string id = string_in(supervision, "recording_id").value_or("");
        const auto found = recordings.find(id);
        if (found == recordings.end())
          throw DataError(fmt::format("is of the recording \"{}\", which {} does not have", id,
                                      beside.filename().string()));
        const auto& [recording, fault] = found->second;
        if (!fault.empty()) throw DataError(fault);
        require_all_channels(supervision, recording);
        ManifestEntry entry =
            make_entry(recording, span_within({0, recording.seconds}, supervision,
                                              "Correct it, by lhotse fix RECORDINGS SUPERVISIONS "
                                              "FOLDER"));
        if (reading.texts) take_text(supervision, entry);
        entry.where = where;
        reading.add(std::move(entry));
      });
}

void read_lhotse_recordings(const ManifestReading& reading) {
  if (reading.texts) {
    const auto names = names_beside(reading.manifest, "recordings", "supervisions");
    throw DataError(fmt::format(
        "manifest {}: holds Lhotse's recordings, which have no texts: name their supervisions{}",
        reading.manifest.string(), names.empty() ? "" : ", " + names[0].string()));
  }
  LhotseSounds sounds(reading);
  for_each_object(reading, reading.manifest,
                  [&](const nlohmann::json& json, const std::string& where) {
                    const LhotseRecording recording = sounds.recording(json);
                    ManifestEntry entry = make_entry(recording, {0, recording.seconds});
                    entry.where = where;
                    reading.add(std::move(entry));
                  });
}

}  // namespace penstock::runtime
