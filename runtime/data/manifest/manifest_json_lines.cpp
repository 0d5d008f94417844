#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "runtime/data/manifest/excerpt.h"
#include "runtime/data/manifest/json_line.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/nemo_shards.h"

// Each line is an object of its own, in NeMo's keys:
//
//   {"audio_filepath": "a.wav", "text": "hello", "duration": 2.5, "offset": 1.0}
//
// Noises need no "text". A language may stand under the names that NeMo, Whisper's users and
// Common Voice give it. Duration and offset are seconds and may be missing; with an offset, the
// utterance is a segment. In a manifest of tars, "shard_id" is the number of the tar, and
// "audio_filepath" names its member. A line with a true "_skipme" is passed over.

namespace penstock::runtime {
namespace {

/// Describes the problem with a line's duration; "" if there is none.
std::string duration_fault(const nlohmann::json& duration) {
  if (!duration.is_number()) return fmt::format("its duration {} is not a number", duration.dump());
  if (!(duration.get<double>() > 0) || !std::isfinite(duration.get<double>()))
    return fmt::format("its duration {} is not positive", duration.dump());
  return {};
}

/// Describes the problem with a line's offset; "" if there is none.
std::string offset_fault(const nlohmann::json& offset) {
  if (offset.is_null()) return {};
  if (!offset.is_number()) return fmt::format("its offset {} is not a number", offset.dump());
  if (!(offset.get<double>() >= 0) || !std::isfinite(offset.get<double>()))
    return fmt::format("its offset {} is negative", offset.dump());
  return {};
}

/// Describes the keys of an object, of which one may be meant. Those of a stranger may be many.
std::string describe_keys(const nlohmann::json& line) {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items())
    if (keys.size() < kShown) keys.push_back(excerpt(key));
  return keys.empty() ? "" : fmt::format(": its keys are {}", fmt::join(keys, ", "));
}

/// Describes the problem with a line; "" if there is none.
std::string describe_fault(const nlohmann::json& line, bool needs_text) {
  if (!line.is_object()) return "is not a JSON object";
  for (const char* key : {"audio_filepath", "text"}) {
    if (!needs_text && key == std::string_view("text")) continue;
    if (!line.contains(key)) return fmt::format("has no \"{}\"{}", key, describe_keys(line));
    if (!line[key].is_string()) return fmt::format("its \"{}\" is not a string", key);
  }
  if (line["audio_filepath"].get_ref<const std::string&>().empty())
    return "its \"audio_filepath\" is empty";
  std::string fault = line.contains("duration") ? duration_fault(line["duration"]) : std::string();
  if (!fault.empty() || !line.contains("offset")) return fault;
  return offset_fault(line["offset"]);
}

/// Returns true if a line's "_skipme" leaves it out. NeMo asks whether Python takes it for true, so
/// its tools may write 1 or the reason.
bool is_skipped(const nlohmann::json& line) {
  const auto found = line.is_object() ? line.find("_skipme") : line.end();
  if (found == line.end() || found->is_null()) return false;
  if (found->is_boolean()) return found->get<bool>();
  if (found->is_number()) return found->get<double>() != 0;
  return found->is_string() ? !found->get_ref<const std::string&>().empty() : !found->empty();
}

/// Returns the language of a line; "" if it names none.
std::string language_in(const nlohmann::json& line) {
  for (const std::string_view key : kLanguageNames) {
    const auto found = line.find(key);
    if (found == line.end() || found->is_null()) continue;
    std::string name = trimmed(found->is_string() ? found->get<std::string>() : found->dump());
    if (!name.empty()) return name;
  }
  return {};
}

/// Finds the recording that a line names: a file or, in NeMo's tarred manifests, a member of a
/// shard.
class LineRecordings {
 public:
  explicit LineRecordings(const ManifestReading& reading) : reading_(reading) {}

  std::filesystem::path of(const nlohmann::json& line) {
    const auto name = line["audio_filepath"].get<std::string>();
    auto file = reading_.manifest.parent_path() / name;
    if (!line.contains("shard_id")) return file;
    const nlohmann::json& shard = line["shard_id"];
    const bool is_number = shard.is_number_integer() && shard.get<std::int64_t>() >= 0;
    std::error_code error;
    if (!is_number && std::filesystem::exists(file, error)) return file;  // not a shard of NeMo's
    if (!is_number)
      throw DataError(fmt::format("its shard_id {} is not a whole number from 0 on", shard.dump()));
    if (!shards_) shards_.emplace(reading_.manifest, reading_.tars, reading_.sources);
    return shards_->recording(shard.get<std::int64_t>(), name);
  }

 private:
  const ManifestReading& reading_;
  std::optional<NemoShards> shards_;
};

}  // namespace

void read_json_lines(const ManifestReading& reading) {
  LineRecordings recordings(reading);
  reading.sources.push_back(reading.manifest);
  for_each_line(reading, reading.manifest, [&](const std::string& text, std::size_t number) {
    const std::string where = reading.at_line(number);
    const auto json = json_in_line<nlohmann::json>(reading, text, where);
    if (!json) return;
    const nlohmann::json& line = *json;
    if (is_skipped(line)) {
      ++reading.skipped;
      return;
    }
    const std::string fault = describe_fault(line, reading.texts);
    if (!fault.empty()) return reading.faults.add(where, fault);
    ManifestEntry entry{
        {}, reading.texts ? line["text"].get<std::string>() : std::string(), {}, where};
    try {
      entry.audio = recordings.of(line);
    } catch (const DataError& error) {
      return reading.faults.add(where, error.what());
    }
    entry.language = language_in(line);
    if (line.contains("duration")) entry.duration = line["duration"];
    if (line.contains("offset") && !line["offset"].is_null()) entry.offset = line["offset"];
    reading.add(std::move(entry));
  });
}

}  // namespace penstock::runtime
