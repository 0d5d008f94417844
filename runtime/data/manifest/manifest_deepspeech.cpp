#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runtime/data/manifest/manifest_formats.h"

namespace penstock::runtime {
namespace {

bool has_string(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) && object[key].is_string();
}

}  // namespace

void read_deepspeech_json(const ManifestReading& reading) {
  reading.sources.push_back(reading.manifest);
  const auto json = nlohmann::json::parse(read_text(reading.manifest));
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
  for_each_line(reading.manifest, [&](const std::string& line, std::size_t number) {
    if (number == 1 && line == "wav,txt") return;
    const std::size_t comma = line.find(',');
    if (comma == std::string::npos || line.find(',', comma + 1) != std::string::npos)
      return reading.faults.add(reading.at_line(number),
                                "is not \"wav,txt\": two paths with one comma between");
    add_with_text_file(reading, folder / trimmed(line.substr(0, comma)),
                       folder / trimmed(line.substr(comma + 1)), reading.at_line(number));
  });
}

}  // namespace penstock::runtime
