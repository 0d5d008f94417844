#include "runtime/data/manifest/lhotse_recording.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/data/manifest/json_line.h"

// Lhotse computes while it loads: a recording may be a command, parts of several files, or changed
// by transforms. What it would compute can't be found in a file, so such recordings are refused by
// name. Resampling is the exception, since times are seconds and penstock resamples by itself.
//
// A relative path starts from the folder in which Lhotse ran, which is often the manifest's. The
// first recording decides which it is, as for Common Voice: a look at the file system for each line
// would be slow on network disks.

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

}  // namespace

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

LhotseSpan span_in(const nlohmann::json& object) {
  const auto start = number_in(object, "start"), seconds = number_in(object, "duration");
  if (!start) throw DataError("has no \"start\" that is a number of seconds");
  if (!seconds || *seconds <= 0) throw DataError("has no \"duration\" above 0 seconds");
  return {*start, *seconds};
}

void require_all_channels(const nlohmann::json& object, const LhotseRecording& recording) {
  const auto channel = object.find("channel");
  if (recording.channels < 2 || channel == object.end() || channel->is_array()) return;
  throw DataError(
      fmt::format("is of channel {} of {}, but penstock mixes channels: write a file for each, by "
                  "CutSet.save_audios()",
                  channel->dump(), recording.channels));
}

ManifestEntry entry_of(const LhotseRecording& recording, const LhotseSpan& span) {
  ManifestEntry entry{recording.sound, {}, span.seconds, {}};
  const bool whole =
      std::abs(span.start) < kExactly && std::abs(span.seconds - recording.seconds) < kExactly;
  if (!whole) entry.offset = span.start;
  return entry;
}

}  // namespace penstock::runtime
