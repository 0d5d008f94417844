#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/sounds_below.h"

// VoxPopuli's transcribed speech has a table for each language and set, whose first line names the
// columns:
//
//   en/asr_train.tsv    id<TAB>raw_text<TAB>normalized_text<TAB>speaker_id<TAB>split<TAB>gender
//
// Recordings are named ID.ogg or ID.wav. voxpopuli.get_asr_data cuts them into folders of years,
// and the archives of Hugging Face have others, so they are looked up by name below the table's
// folder.

namespace penstock::runtime {

bool has_voxpopuli_columns(const std::vector<std::string>& header) {
  const auto has = [&](const char* name) {
    return std::ranges::find(header, name) != header.end();
  };
  return has("id") && has("normalized_text") && !has_recording_column(header);
}

void read_voxpopuli(const ManifestReading& reading) {
  if (reading.files != nullptr && reading.files->holds(reading.manifest))
    throw DataError(fmt::format(
        "manifest {}: is VoxPopuli's table by URL, but its recordings are looked up in "
        "the folders below it: download the language's folder, and name the table there",
        reading.manifest.string()));
  reading.sources.push_back(reading.manifest);
  const SoundsBelow sounds(reading, reading.manifest.parent_path());
  std::size_t id = 0, text = 0;
  std::vector<std::string> header;
  for_each_line(reading, reading.manifest, [&](const std::string& line, std::size_t number) {
    const std::string where = reading.at_line(number);
    const std::vector<std::string> fields = split(line, '\t');
    if (header.empty()) {
      header = fields;
      id = static_cast<std::size_t>(std::ranges::find(fields, "id") - fields.begin());
      text =
          static_cast<std::size_t>(std::ranges::find(fields, "normalized_text") - fields.begin());
      return;
    }
    if (fields == header) return reading.faults.add(where, kRepeatedHeader);
    if (fields.size() != header.size())
      return reading.faults.add(where,
                                fmt::format("has {}, but the first line names {}",
                                            counted(std::ssize(fields), "field"), header.size()));
    try {
      reading.add({sounds.named(fields[id]), trimmed(fields[text]), {}, where});
    } catch (const DataError& error) {
      reading.faults.add(where, error.what());
    }
  });
}

}  // namespace penstock::runtime
