#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>

#include "runtime/data/manifest/manifest_formats.h"

namespace penstock::runtime {
namespace {

/// Returns the folder of the recordings, judged by the first of them: clips/, or the table's own if
/// the recording lies there.
std::filesystem::path recordings_folder(const std::filesystem::path& table,
                                        const std::string& first) {
  const auto own = table.parent_path(), clips = own / "clips";
  std::error_code error;
  if (std::filesystem::exists(clips / first, error)) return clips;
  if (std::filesystem::exists(own / first, error)) return own;
  spdlog::warn(
      "{}: its first recording is neither {} nor {}. Common Voice has recordings in clips/ beside "
      "the table",
      table.string(), (clips / first).string(), (own / first).string());
  return clips;
}

}  // namespace

void read_common_voice(const ManifestReading& reading) {
  std::optional<std::filesystem::path> folder;
  reading.sources.push_back(reading.manifest);
  std::size_t path = 0, sentence = 0;
  bool usable = false;
  for_each_line(reading.manifest, [&](const std::string& line, std::size_t number) {
    const std::vector<std::string> fields = split(line, '\t');
    if (number == 1) {
      const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::ranges::find(fields, name) - fields.begin());
      };
      path = column("path");
      sentence = column("sentence");
      usable = std::max(path, sentence) < fields.size();
      if (!usable)
        reading.faults.add(reading.at_line(1), "does not name the columns path and sentence");
      return;
    }
    if (!usable) return;
    if (fields.size() <= std::max(path, sentence) || fields[path].empty())
      return reading.faults.add(reading.at_line(number), "has no path or no sentence");
    if (!folder) folder = recordings_folder(reading.manifest, fields[path]);
    reading.add({*folder / fields[path], trimmed(fields[sentence]), {}, reading.at_line(number)});
  });
}

}  // namespace penstock::runtime
