#include <algorithm>

#include "runtime/data/manifest_formats.h"

namespace penstock::runtime {
void read_common_voice(const ManifestReading& reading) {
  const auto clips = reading.manifest.parent_path() / "clips";
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
    reading.add({clips / fields[path], trimmed(fields[sentence]), {}, reading.at_line(number)});
  });
}

}  // namespace penstock::runtime
