#include <fmt/format.h>

#include <string>
#include <vector>

#include "runtime/data/manifest/manifest_formats.h"

// A set of Multilingual LibriSpeech is a folder:
//
//   mls_german/dev/transcripts.txt                                  4800_10003_000000<TAB>es war …
//   mls_german/dev/audio/4800/10003/4800_10003_000000.flac          .opus in mls_german_opus
//
// The first recording shows the extension.

namespace penstock::runtime {
namespace {

constexpr const char* kTranscripts = "transcripts.txt";

}  // namespace

bool is_mls_set(const std::filesystem::path& folder) {
  std::error_code error;
  const auto transcripts = folder / kTranscripts;
  return std::filesystem::is_directory(folder / "audio", error) &&
         std::filesystem::is_regular_file(transcripts, error) &&
         first_line(transcripts).find('\t') != std::string::npos;
}

void read_mls(const ManifestReading& reading) {
  const auto transcripts = reading.manifest / kTranscripts;
  reading.sources.insert(reading.sources.end(), {transcripts, reading.manifest / "audio"});
  SharedExtension extension;
  for_each_line(reading, transcripts, [&](const std::string& line, std::size_t number) {
    const std::string where = fmt::format("{}:{}", kTranscripts, number);
    const std::size_t tab = line.find('\t');
    const std::string name = line.substr(0, tab);
    const std::vector<std::string> parts = split(name, '_');
    if (tab == std::string::npos || parts.size() != 3 || parts[0].empty() || parts[1].empty())
      return reading.faults.add(
          where, "is not an utterance's name, SPEAKER_BOOK_NUMBER, a tab and its text");
    const auto stem = reading.manifest / "audio" / parts[0] / parts[1] / name;
    reading.add({extension.recording(stem), trimmed(line.substr(tab)), {}, where});
  });
}

}  // namespace penstock::runtime
