#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/manifest_formats.h"

// FLEURS has a table without a header for each language and set:
//
//   en_us/train.tsv     903<TAB>100.wav<TAB>Raw text.<TAB>raw text<TAB>r a w |
//   …<TAB>108800<TAB>MALE
//
// The columns are the sentence, the recording, its text as written and normalised, characters, the
// number of samples at 16 kHz, and gender. The normalised text is read. The recordings are where
// the archive audio/train.tar.gz was unpacked, or where Lhotse's recipe writes them.

namespace penstock::runtime {
namespace {

constexpr std::size_t kColumns = 7;
constexpr double kRate = 16'000;  // Hz

std::optional<std::int64_t> count_in(const std::string& field) {
  std::int64_t count = 0;
  const auto [end, fault] = std::from_chars(field.data(), field.data() + field.size(), count);
  const bool whole = fault == std::errc() && end == field.data() + field.size() && count > 0;
  return whole ? std::optional(count) : std::nullopt;
}

/// Adds the folder of recordings to the sources. That of the table also changes when an index is
/// written beside it, and those of a server are listed with its other files.
void add_source(const ManifestReading& reading, const std::filesystem::path& folder) {
  const bool remote = reading.files != nullptr && reading.files->holds(reading.manifest);
  if (!remote && folder != reading.manifest.parent_path()) reading.sources.push_back(folder);
}

/// Returns the folder that has the first recording.
std::filesystem::path recordings_beside(const ManifestReading& reading, const std::string& first) {
  const std::filesystem::path& table = reading.manifest;
  const auto set = uncompressed_name(table).stem(), folder = table.parent_path();
  const std::array places{folder / "audio" / set, folder / set, folder / "audio", folder,
                          folder / ".." / ".." / folder.filename() / set};
  for (const auto& place : places) {
    std::error_code error;
    if (std::filesystem::exists(place / first, error)) return place;
  }
  if (reading.files != nullptr && reading.files->holds(table)) return places[0];
  throw DataError(fmt::format(
      "{}: its first recording is neither {} nor {}: unpack audio/{}.tar.gz there, by tar -xzf",
      table.string(), (places[0] / first).string(), (places[1] / first).string(), set.string()));
}

}  // namespace

bool is_fleurs_row(const std::vector<std::string>& fields) {
  return fields.size() == kColumns && count_in(fields[0]) && fields[1].ends_with(".wav") &&
         count_in(fields[5]);
}

void read_fleurs(const ManifestReading& reading) {
  reading.sources.push_back(reading.manifest);
  std::optional<std::filesystem::path> folder;
  for_each_line(reading, reading.manifest, [&](const std::string& line, std::size_t number) {
    const std::string where = reading.at_line(number);
    const std::vector<std::string> fields = split(line, '\t');
    if (fields.size() != kColumns)
      return reading.faults.add(
          where, fmt::format("has {}, not the 7 of FLEURS: sentence, recording, text as written, "
                             "text, characters, samples and gender",
                             counted(std::ssize(fields), "field")));
    if (fields[1].empty()) return reading.faults.add(where, "names no recording");
    const auto samples = count_in(trimmed(fields[5]));
    if (!samples)
      return reading.faults.add(
          where, fmt::format("its number of samples \"{}\" is no whole number above 0", fields[5]));
    if (!folder) add_source(reading, folder.emplace(recordings_beside(reading, fields[1])));
    reading.add(
        {*folder / fields[1], trimmed(fields[3]), static_cast<double>(*samples) / kRate, where});
  });
}

}  // namespace penstock::runtime
