#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "runtime/data/manifest/json_line.h"
#include "runtime/data/manifest/lhotse_recording.h"
#include "runtime/data/manifest/lhotse_span.h"

// Lhotse's manifests are JSON lines, compressed by gzip as a rule:
//
//   x_recordings_train.jsonl.gz    {"id": "a", "sources": [{"type": "file", "source": "a.wav", …}],
//                                   "duration": 2.5, …}
//   x_supervisions_train.jsonl.gz  {"id": "a-0", "recording_id": "a", "start": 0.5, "duration": 1,
//                                   "text": "HELLO", "language": "English", …}
//   x_cuts_train.jsonl.gz          {"type": "MonoCut", "start": 0, "duration": 2.5, "recording":
//                                   {…}, "supervisions": [{…, times from the cut's start}], …}
//
// Each supervision is an utterance, as after CutSet.trim_to_supervisions(). Cuts are read one at a
// time. For supervisions, all recordings are in memory.

namespace penstock::runtime {
namespace {

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
  const LhotseRecording recording = sounds.recording(lhotse_source(part_in(cut, "recording")));
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
          span_within(span, span_in(supervision),
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
      recording = sounds.recording(lhotse_source(json));
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
            make_entry(recording, span_within({0, recording.seconds}, span_in(supervision),
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
                    const LhotseRecording recording = sounds.recording(lhotse_source(json));
                    ManifestEntry entry = make_entry(recording, {0, recording.seconds});
                    entry.where = where;
                    reading.add(std::move(entry));
                  });
}

}  // namespace penstock::runtime
