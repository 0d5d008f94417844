#include "tools/cli/subtitle_folder.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "tools/cli/output_file.h"

namespace penstock::tools {

namespace fs = std::filesystem;

CLI::Option* takes_subtitles(CLI::App* command, SubtitleOptions& options) {
  CLI::Option* folder = command->add_option(
      "--subtitles", options.folder,
      "Folder to write a file of subtitles to for each recording; new or empty");
  command
      ->add_option("--subtitle-format", options.format,
                   "srt: SubRip; vtt: WebVTT. Default: " + options.format)
      ->needs(folder)
      ->check(CLI::IsMember({"srt", "vtt"}));
  return folder;
}

void check_subtitle_folder(const SubtitleOptions& options) {
  std::error_code error;
  if (options.folder.empty() || !fs::exists(options.folder, error)) return;
  if (!fs::is_directory(options.folder, error))
    throw ConfigError(fmt::format("--subtitles: {} is no folder: name one", options.folder));
  if (!fs::is_empty(options.folder, error))
    throw ConfigError(fmt::format("--subtitles: {} is not empty: name a new folder, or empty it",
                                  options.folder));
}

SubtitleFolder::SubtitleFolder(const SubtitleOptions& options) : options_(options) {
  std::error_code error;
  fs::create_directories(options_.folder, error);
  if (error)
    throw ConfigError(
        fmt::format("--subtitles: can't make {}: {}", options_.folder, error.message()));
}

void SubtitleFolder::add(const fs::path& audio, double offset,
                         std::span<const runtime::TimedWord> words) {
  const bool goes_back = !cues_.empty() && offset < cues_.back().start;
  if (audio != audio_ || goes_back) finish();
  audio_ = audio;
  runtime::append_cues(cues_, words, offset);
}

void SubtitleFolder::finish() {
  if (audio_.empty()) return;
  const std::string stem = audio_.stem().string();
  std::string name = stem;
  for (int count = 2; !names_.insert(name).second; ++count)
    name = fmt::format("{}-{}", stem, count);
  runtime::hold_cues(cues_);
  write_output((fs::path(options_.folder) / (name + "." + options_.format)).string(),
               options_.format == "srt" ? runtime::srt_text(cues_) : runtime::vtt_text(cues_));
  cues_.clear();
  audio_.clear();
}

}  // namespace penstock::tools
