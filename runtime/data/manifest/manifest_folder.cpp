#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/error.h"
#include "runtime/data/manifest/manifest_formats.h"

// Recordings and transcripts are paired by their path without the extension. A pair that lacks one
// half, or has two recordings, is a fault of its own. Files are visited in sorted order and pairs
// lie in a map, so the utterances have one order on every file system.

namespace penstock::runtime {
namespace {

constexpr std::array<std::string_view, 9> kSounds = {".wav", ".flac", ".ogg",  ".oga", ".opus",
                                                     ".mp3", ".sph",  ".aiff", ".aif"};

/// A recording and a transcript whose paths differ in the extension alone.
struct Pair {
  std::filesystem::path sound, text;
};

}  // namespace

bool is_sound(const std::filesystem::path& file) {
  return std::ranges::find(kSounds, in_small_letters(file.extension().string())) != kSounds.end();
}

std::string extension_beside(const std::filesystem::path& stem) {
  constexpr std::array<const char*, 5> kLikely = {".flac", ".opus", ".wav", ".ogg", ".mp3"};
  std::error_code error;
  const auto found = std::ranges::find_if(kLikely, [&](const char* extension) {
    return std::filesystem::exists(stem.string() + extension, error);
  });
  return found == kLikely.end() ? "" : *found;
}

std::filesystem::path SharedExtension::recording(const std::filesystem::path& stem) {
  if (extension_.empty() && tried_++ < kTried) extension_ = extension_beside(stem);
  return stem.string() + (extension_.empty() ? ".flac" : extension_);
}

std::string one_line(const std::string& transcript) {
  std::string text = trimmed(transcript);
  std::erase(text, '\r');
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               std::vector<std::filesystem::path>* folders) {
  std::vector<std::filesystem::path> files;
  if (folders != nullptr) folders->push_back(folder);
  std::filesystem::path last = folder;  // for the message if a folder can't be read
  std::error_code error;
  std::filesystem::recursive_directory_iterator item(
      folder, std::filesystem::directory_options::follow_directory_symlink, error);
  for (; !error && item != std::filesystem::recursive_directory_iterator(); item.increment(error)) {
    last = item->path();
    files.push_back(last);
    std::error_code gone;
    if (folders != nullptr && item->is_directory(gone)) folders->push_back(last);
  }
  if (error) throw DataError(fmt::format("{}: can't be read: {}", last.string(), error.message()));
  std::ranges::sort(files);
  return files;
}

std::vector<std::filesystem::path> files_below(const ManifestReading& reading) {
  return files_below(reading.manifest, &reading.sources);
}

void add_with_text_file(const ManifestReading& reading, const std::filesystem::path& audio,
                        const std::filesystem::path& transcript, const std::string& where) {
  reading.sources.push_back(transcript);
  std::error_code error;
  const auto status = std::filesystem::status(transcript, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return reading.faults.add(
        where, fmt::format("its transcript {}: not a regular file", transcript.string()));
  try {
    reading.add({audio, one_line(read_text(reading, transcript)), {}, where});
  } catch (const DataError& error) {
    reading.faults.add(where, fmt::format("its transcript {}", error.what()));
  }
}

namespace {

/// Adds every recording in a folder. They need no texts.
void add_sounds(const ManifestReading& reading) {
  for (const auto& file : files_below(reading))
    if (is_sound(file))
      reading.add({file, {}, {}, file.lexically_proximate(reading.manifest).string()});
}

}  // namespace

void read_folder(const ManifestReading& reading) {
  if (!reading.texts) return add_sounds(reading);
  std::map<std::filesystem::path, Pair> pairs;
  for (const auto& file : files_below(reading)) {
    const auto name = file.parent_path() / file.stem();
    if (is_sound(file)) {
      if (!pairs[name].sound.empty())
        reading.faults.add(
            file.lexically_proximate(reading.manifest).string(),
            fmt::format("is the second recording beside {}.txt", name.filename().string()));
      pairs[name].sound = file;
    }
    if (file.extension() == ".txt") pairs[name].text = file;
  }
  for (const auto& [name, pair] : pairs) {
    const std::string where = (pair.sound.empty() ? pair.text : pair.sound)
                                  .lexically_proximate(reading.manifest)
                                  .string();
    if (pair.sound.empty())
      reading.faults.add(where, "has no recording beside it");
    else if (pair.text.empty())
      reading.faults.add(where, fmt::format("has no transcript beside it: {}.txt is missing",
                                            name.filename().string()));
    else
      add_with_text_file(reading, pair.sound, pair.text, where);
  }
}

}  // namespace penstock::runtime
