#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/data/manifest/manifest_formats.h"
#include "runtime/data/manifest/tar.h"

// A shard is read in one pass over its headers, which sorts its members into samples by key;
// members of other types are ignored. Then each sample yields an utterance, in the order in which
// keys first occur. A recording is named by its range of the tar's bytes and never read here;
// transcripts are read from theirs. A damaged tar is a fault, and what was found before the damage
// is still used.

namespace penstock::runtime {
namespace {

/// The members of a tar that share one key.
struct WebSample {
  std::optional<TarEntry> sound, text, json;

  std::optional<TarEntry>& part(bool is_sound, const std::string& extension) {
    if (is_sound) return sound;
    if (extension == "txt") return text;
    return json;
  }
};

/// Splits a name into key and extensions. WebDataset splits at the first dot of the file name.
/// Returns nothing for names that WebDataset ignores. For example, "clips/a.seg1.wav" has the key
/// "clips/a" and the extension "seg1.wav".
std::optional<std::pair<std::string, std::string>> split_key(const std::string& name) {
  const std::size_t start = name.rfind('/') + 1;  // 0 if there is no slash
  const std::size_t dot = name.find('.', start);
  if (dot == std::string::npos || dot == start || name.compare(start, 2, "__") == 0)
    return std::nullopt;
  return std::pair(name.substr(0, dot), name.substr(dot + 1));
}

/// One tar of a WebDataset.
class WebShard {
 public:
  WebShard(const ManifestReading& reading, const std::filesystem::path& tar)
      : reading_(reading), local_(reading.open(tar)), file_(local_.path), where_(where_of(tar)) {}

  void read() {
    try {
      for_each_entry(file_, [this](const TarEntry& entry) { sort(entry); });
    } catch (const DataError& error) {
      reading_.faults.add(where_, error.what());
    }
    if (has_no_texts())
      return reading_.faults.add(
          where_, fmt::format("has {}, and no text of the key of any: if it is the archive of a "
                              "corpus, unpack it, by tar -xf {}, and name what it holds",
                              counted(std::ssize(samples_), "recording"), file_.path().string()));
    for (const auto& [key, sample] : samples_) add(key, sample);
  }

 private:
  bool has_no_texts() const {
    return !samples_.empty() && std::ranges::all_of(samples_, [](const auto& sample) {
      return !sample.second.text && !sample.second.json;
    });
  }
  std::string where_of(const std::filesystem::path& tar) const {
    const std::filesystem::path name =
        tar == reading_.manifest ? tar.filename() : tar.lexically_proximate(reading_.manifest);
    return (reading_.folder_name / name).string();
  }
  void fault(const std::string& member, std::string what) const {
    reading_.faults.add(where_ + ":" + member, std::move(what));
  }

  /// Assigns a member to the sample of its key.
  void sort(const TarEntry& entry) {
    const auto parts = split_key(entry.name);
    if (!parts) return;
    const auto& [key, extension] = *parts;
    const bool sound = is_sound(entry.name);
    if (!sound && extension != "txt" && extension != "json") return;
    if (entry.link)
      return fault(entry.name,
                   "is a link: pack the files themselves, by tar --dereference --hard-dereference");
    const auto [known, fresh] = places_.try_emplace(key, samples_.size());
    if (fresh) samples_.emplace_back(key, WebSample());
    auto& part = samples_[known->second].second.part(sound, extension);
    if (part)
      return fault(entry.name,
                   fmt::format("has the key \"{}\" of {}: a key ends at a name's first dot, as "
                               "WebDataset has it; give each utterance another",
                               key, part->name));
    part = entry;
  }

  void add(const std::string& key, const WebSample& sample) const {
    if (!sample.sound)
      return fault((sample.text ? sample.text : sample.json)->name,
                   "has no recording of its key in the tar");
    if (!sample.text && !sample.json)
      return fault(
          sample.sound->name,
          fmt::format("has no transcript in the tar: {0}.txt, or {0}.json with a \"text\", "
                      "is missing",
                      key));
    const auto text = sample.text ? text_of(*sample.text) : json_text_of(*sample.json);
    if (!text) return;
    const TarEntry& sound = *sample.sound;
    reading_.add({path_of({file_.path(), sound.first, sound.bytes, sound.name}),
                  one_line(*text),
                  {},
                  where_ + ":" + sound.name});
  }

  std::optional<std::string> text_of(const TarEntry& entry) const {
    return file_.read(entry.first, entry.bytes);
  }
  std::optional<std::string> json_text_of(const TarEntry& entry) const {
    const auto json = nlohmann::json::parse(file_.read(entry.first, entry.bytes), nullptr, false);
    if (json.is_object() && json.contains("text") && json["text"].is_string())
      return json["text"].get<std::string>();
    fault(entry.name, json.is_discarded() ? "is no JSON" : "has no \"text\" that is a string");
    return std::nullopt;
  }

  const ManifestReading& reading_;
  LocalFile local_;
  FileRange file_;
  std::string where_;
  std::vector<std::pair<std::string, WebSample>> samples_;  // in the tar's order
  std::unordered_map<std::string, std::size_t> places_;     // index of each key in samples_
};

}  // namespace

void read_webdataset(const ManifestReading& reading) {
  std::error_code error;
  const bool folder = std::filesystem::is_directory(reading.manifest, error);
  const std::vector<std::filesystem::path> files =
      folder ? files_below(reading) : std::vector{reading.manifest};
  for (const auto& file : files) {
    if (!is_tar_name(file) || std::filesystem::is_directory(file, error)) continue;
    reading.sources.push_back(file);
    WebShard(reading, file).read();
  }
}

}  // namespace penstock::runtime
