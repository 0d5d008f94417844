#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/decoding/subtitles.h"
#include "tools/cli/output_file.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace penstock::tools {

/// Options with which a user asks for subtitles.
struct SubtitleOptions {
  std::string folder = {};     // empty: no subtitles
  std::string format = "srt";  // or "vtt"
};

/// Adds --subtitles and --subtitle-format to a command. Returns the first.
CLI::Option* takes_subtitles(CLI::App* command, SubtitleOptions& options);

/// Makes the folder of --subtitles. ConfigError if that fails, if it is not empty, or if one of the
/// command's other outputs lies in it. Call it before the work.
void make_subtitle_folder(const SubtitleOptions& options, const std::vector<NamedFile>& outputs);

/// A folder with one file of subtitles for each recording, named as the recording is. The second of
/// two recordings with one name gets "-2" after it.
class SubtitleFolder {
 public:
  /// The folder must be there.
  explicit SubtitleFolder(const SubtitleOptions& options) : options_(options) {}

  /// Takes the words of a recording, or of a segment of it that begins at `offset` seconds.
  /// Segments of a recording follow one another in time; one that begins no later than the one
  /// before it begins another file.
  void add(const std::filesystem::path& audio, double offset,
           std::span<const runtime::TimedWord> words);
  /// Writes the file of the last recording; its words are complete. ConfigError if that fails.
  void finish();

  /// The number of files so far.
  std::int64_t files() const { return std::ssize(names_); }

 private:
  SubtitleOptions options_;
  std::filesystem::path audio_ = {};  // the recording whose words are not written yet
  double offset_ = 0;                 // of its last segment
  std::vector<runtime::SubtitleCue> cues_;
  std::set<std::string> names_;
};

}  // namespace penstock::tools
