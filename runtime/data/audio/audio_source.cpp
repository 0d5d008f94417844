#include "runtime/data/audio/audio_source.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/tar_member.h"

namespace penstock::runtime {
namespace {

/// Throws DataError if a recording holds something else than when it was indexed.
void require(const AudioLength& found, const AudioLength& indexed, const AudioSource& source) {
  if (found == indexed) return;
  throw DataError(
      fmt::format("{}: holds {} at {} Hz, but held {} at {} Hz when it was indexed: index its "
                  "manifest anew, by penstock data index, or start again if [augment] names it",
                  manifest_name(source.audio), counted(found.samples, "sample"), found.rate,
                  indexed.samples, indexed.rate));
}

}  // namespace

Audio read_source(const AudioSource& source, const std::filesystem::path& file) {
  RangeReader reader;
  return read_source(source, file, reader);
}

Audio read_source(const AudioSource& source, const std::filesystem::path& file,
                  RangeReader& reader) {
  Audio audio =
      source.first ? reader.read(file, {*source.first, source.length.samples}) : read_audio(file);
  require({std::ssize(audio.samples), audio.rate}, source.length, source);
  return audio;
}

Audio read_part(const AudioSource& source, const std::filesystem::path& file,
                const SampleRange& part) {
  Audio audio = read_audio(file, {source.first.value_or(0) + part.first, part.samples});
  require({std::ssize(audio.samples), audio.rate}, {part.samples, source.length.rate}, source);
  return audio;
}

}  // namespace penstock::runtime
