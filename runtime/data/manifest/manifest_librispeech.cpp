#include <fmt/format.h>

#include "runtime/data/manifest/manifest_formats.h"

namespace penstock::runtime {
void read_librispeech(const ManifestReading& reading) {
  for (const auto& file : files_below(reading)) {
    if (!file.string().ends_with(".trans.txt")) continue;
    reading.sources.push_back(file);
    for_each_line(file, [&](const std::string& line, std::size_t number) {
      const std::size_t space = line.find(' ');
      const std::string where = fmt::format("{}:{}", file.filename().string(), number);
      if (space == 0 || space == std::string::npos)
        return reading.faults.add(where, "is not an utterance's name, a space and its text");
      reading.add({file.parent_path() / (line.substr(0, space) + ".flac"),
                   trimmed(line.substr(space)),
                   {},
                   where});
    });
  }
}

}  // namespace penstock::runtime
