#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "runtime/decoding/subtitles.h"

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

/// Raises ConfigError unless the folder of --subtitles is new or empty. Call it before the work.
void check_subtitle_folder(const SubtitleOptions& options);

/// A folder with one file of subtitles for each recording, named as the recording is. The second of
/// two recordings with one name gets "-2" after it.
class SubtitleFolder {
 public:
  /// Makes the folder. ConfigError if that fails.
  explicit SubtitleFolder(const SubtitleOptions& options);

  /// Takes the words of a recording, or of a segment of it that begins at `offset` seconds.
  /// Segments of a recording follow one another in time; one that goes back begins another file.
  void add(const std::filesystem::path& audio, double offset,
           std::span<const runtime::TimedWord> words);
  /// Writes the file of the last recording; its words are complete. ConfigError if that fails.
  void finish();

  /// The number of files so far.
  std::int64_t files() const { return std::ssize(names_); }

 private:
  SubtitleOptions options_;
  std::filesystem::path audio_ = {};  // the recording whose words are not written yet
  std::vector<runtime::SubtitleCue> cues_;
  std::set<std::string> names_;
};

}  // namespace penstock::tools
