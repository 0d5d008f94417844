#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "runtime/data/manifest_formats.h"

namespace penstock::runtime {
namespace {

/// Every *.trans.txt below the folder, in the order of their paths. DataError if there is none or
/// a folder can't be read.
std::vector<std::filesystem::path> transcripts_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::filesystem::path last = folder;  // where it went wrong, if it did
  std::error_code error;
  std::filesystem::recursive_directory_iterator item(
      folder, std::filesystem::directory_options::follow_directory_symlink, error);
  for (; !error && item != std::filesystem::recursive_directory_iterator(); item.increment(error)) {
    last = item->path();
    if (last.string().ends_with(".trans.txt")) files.push_back(last);
  }
  if (error) throw DataError(fmt::format("{}: can't be read: {}", last.string(), error.message()));
  if (files.empty())
    throw DataError(
        fmt::format("{}: a folder is read as LibriSpeech, but this one holds no *.trans.txt: list "
                    "its recordings in a manifest",
                    folder.string()));
  std::ranges::sort(files);
  return files;
}

}  // namespace

void read_librispeech(const ManifestReading& reading) {
  for (const auto& file : transcripts_below(reading.manifest))
    for_each_line(file, [&](const std::string& line, std::size_t number) {
      const std::size_t space = line.find(' ');
      const std::string where = fmt::format("{}:{}", file.filename().string(), number);
      if (space == 0 || space == std::string::npos)
        return reading.faults.add(where, "is not an utterance's name, a space and its text");
      reading.entries.push_back({file.parent_path() / (line.substr(0, space) + ".flac"),
                                 trimmed(line.substr(space)),
                                 {},
                                 where});
    });
}

}  // namespace penstock::runtime
