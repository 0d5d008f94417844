#include <fmt/format.h>

#include "base/error.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/sounds_below.h"
#include "runtime/data/manifest/stm_line.h"

// TED-LIUM's sets, and others of NIST's evaluations, are folders:
//
//   legacy/train/stm/911Mothers_2010W.stm    911Mothers_2010W 1 S 15.16 18.26 <NA> i have a …
//   legacy/train/sph/911Mothers_2010W.sph
//
// All .stm files below the folder must lie in one folder: TED-LIUM's root has those of training and
// test.

namespace penstock::runtime {
namespace {

/// Returns true for the text of a segment that nobody transcribed. NIST's tools ignore case.
bool is_ignored(const std::string& text) {
  return in_small_letters(text) == "ignore_time_segment_in_scoring";
}

std::vector<std::filesystem::path> stm_files(const ManifestReading& reading) {
  std::vector<std::filesystem::path> files;
  for (const auto& file : files_below(reading))
    if (file.extension() == ".stm") files.push_back(file);
  for (const auto& file : files)
    if (file.parent_path() != files[0].parent_path())
      throw DataError(fmt::format(
          "manifest {}: has .stm files in several folders, such as {} and {}: name a single set",
          reading.manifest.string(), files[0].parent_path().string(), file.parent_path().string()));
  return files;
}

void add_segment(const ManifestReading& reading, const SoundsBelow& sounds, const std::string& line,
                 const std::string& where) {
  const StmLine segment = parse_stm(line);
  if (is_ignored(segment.text)) return;
  if (segment.channel != "1" && segment.channel != "A" && segment.channel != "a")
    throw DataError(
        fmt::format("is of channel {}, but penstock mixes channels: split them into "
                    "files",
                    segment.channel));
  reading.add({sounds.named(segment.recording), segment.text, segment.end - segment.begin, where,
               segment.begin});
}

}  // namespace

void read_stm(const ManifestReading& reading) {
  const SoundsBelow sounds(reading, reading.manifest);
  for (const auto& file : stm_files(reading)) {
    reading.sources.push_back(file);
    for_each_line(reading, file, [&](const std::string& line, std::size_t number) {
      if (line.starts_with(";;")) return;  // a comment
      const std::string where = reading.at_line(file, number);
      try {
        add_segment(reading, sounds, line, where);
      } catch (const DataError& error) {
        reading.faults.add(where, error.what());
      }
    });
  }
}

}  // namespace penstock::runtime
