#include "tools/cli/subtitle_folder.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/unicode.h"
#include "runtime/data/manifest/tar_member.h"
#include "runtime/data/remote/remote_url.h"
#include "tools/cli/options.h"

namespace penstock::tools {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestStem = 200;  // bytes; names of files have at most 255

/// Returns the name of a recording without folder and ending: of the member of a tar, and of a URL
/// without its query.
std::string stem(const fs::path& audio) {
  const auto member = runtime::tar_member(audio.string());
  const bool remote = runtime::is_remote_url(audio.string());
  const fs::path name = member   ? member->name
                        : remote ? runtime::without_query(audio.string())
                                 : audio.string();
  std::string text = name.stem().string();
  if (text.size() > kLongestStem) {
    text.resize(kLongestStem);
    // A character that is cut in its middle would make no valid name.
    text.resize(decode_utf8(text).wrong_byte.value_or(text.size()));
  }
  return text.empty() ? "recording" : text;
}

}  // namespace

CLI::Option* takes_subtitles(CLI::App* command, SubtitleOptions& options) {
  CLI::Option* folder =
      takes_folder(command->add_option("--subtitles", options.folder,
                                       "Folder to write a file of subtitles to for each recording; "
                                       "new or empty"),
                   FolderUse::written);
  command
      ->add_option("--subtitle-format", options.format,
                   "srt: SubRip; vtt: WebVTT. Default: " + options.format)
      ->needs(folder)
      ->check(CLI::IsMember({"srt", "vtt"}));
  return folder;
}

void make_subtitle_folder(const SubtitleOptions& options, const std::vector<NamedFile>& outputs) {
  if (options.folder.empty()) return;
  std::error_code error;
  fs::create_directories(options.folder, error);
  const bool empty = !error && fs::is_empty(options.folder, error);
  if (error)
    throw ConfigError(
        fmt::format("--subtitles: can't use {}: {}", options.folder, error.message()));
  if (!empty)
    throw ConfigError(fmt::format("--subtitles: {} is not empty: name a new folder, or empty it",
                                  options.folder));
  if (const std::string why = why_unwritable(options.folder + "/0." + options.format); !why.empty())
    throw ConfigError(fmt::format("--subtitles: can't write to {}: {}", options.folder, why));
  for (const auto& [option, path] : outputs)
    if (!path.empty() && fs::equivalent(fs::absolute(path).parent_path(), options.folder, error))
      throw ConfigError(fmt::format(
          "{}: {} lies in the folder of --subtitles, which could replace it: name a file elsewhere",
          option, path));
}

void SubtitleFolder::add(const fs::path& audio, double offset,
                         std::span<const runtime::TimedWord> words) {
  if (audio != audio_ || offset <= offset_) finish();
  audio_ = audio;
  offset_ = offset;
  runtime::append_cues(cues_, words, offset);
}

void SubtitleFolder::finish() {
  if (audio_.empty()) return;
  const std::string first = stem(audio_);
  std::string name = first;
  for (int count = 2; !names_.insert(name).second; ++count)
    name = fmt::format("{}-{}", first, count);
  runtime::hold_cues(cues_);
  write_output((fs::path(options_.folder) / (name + "." + options_.format)).string(),
               options_.format == "srt" ? runtime::srt_text(cues_) : runtime::vtt_text(cues_));
  cues_.clear();
  audio_.clear();
}

}  // namespace penstock::tools
