#include "runtime/data/manifest/lhotse_recording.h"

#include <fmt/format.h>

#include "base/error.h"

// Lhotse computes while it loads: a recording may be a command, parts of several files, or changed
// by transforms. What it would compute can't be found in a file, so such recordings are refused by
// name. Resampling is the exception, since times are seconds and penstock resamples by itself.
//
// A relative path starts from the folder in which Lhotse ran, which is often the manifest's. The
// first recording decides which it is, as for Common Voice: a look at the file system for each line
// would be slow on network disks.

namespace penstock::runtime {
namespace {

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

LhotseRecording LhotseSounds::recording(const LhotseSource& source) {
  if (source.files == 0) throw DataError("its recording has no \"sources\"");
  if (source.files > 1)
    throw DataError(
        fmt::format("its recording has {} files, one or more channels in each: write "
                    "one file, by CutSet.save_audios()",
                    source.files));
  require_file(source.type, source.source);
  if (source.source.empty()) throw DataError("its recording names no \"source\"");
  if (!source.transform.empty())
    throw DataError(fmt::format(
        "Lhotse changes its recording by {} while it loads: list the cuts before that, and change "
        "recordings by [augment] and data.speeds, or write what is heard, by CutSet.save_audios()",
        source.transform));
  if (source.seconds <= 0) throw DataError("its recording has no \"duration\" above 0 seconds");
  return {located(source.source), source.seconds, source.channels};
}

}  // namespace penstock::runtime
