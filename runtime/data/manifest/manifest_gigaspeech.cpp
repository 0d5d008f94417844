#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/json_nesting.h"
#include "runtime/data/manifest/json_line.h"

// GigaSpeech is one JSON object of several gigabytes beside its folder audio/:
//
//   {"dataset": "GigaSpeech", …, "audios": [{"path": "audio/podcast/P0000/POD0000000004.opus",
//     "segments": [{"sid": "POD0000000004_S0000001", "begin_time": 159.0, "end_time": 164.1,
//     "text_tn": "DOUGLAS MCGRAY <COMMA> GOING TO BE <PERIOD>", "subsets": ["{XL}", "{L}"]}, …]},
//     …]}
//
// The parser hands over each element of "audios" when it is complete, and forgets it, so memory
// holds one recording's segments. Its subsets hold test and training data, so one must be named:
// "GigaSpeech.json:M". Marks of punctuation are removed, and segments without speech left out, as
// in the recipes of icefall and ESPnet.

namespace penstock::runtime {
namespace {

constexpr std::size_t kHead = 4096;  // bytes of the file in which its keys must occur
constexpr int kAudioDepth = 2;       // of an element of "audios"

constexpr std::array<std::string_view, 4> kPunctuation = {"<COMMA>", "<PERIOD>", "<QUESTIONMARK>",
                                                          "<EXCLAMATIONPOINT>"};
constexpr std::array<std::string_view, 4> kWithoutSpeech = {"<SIL>", "<MUSIC>", "<NOISE>",
                                                            "<OTHER>"};

/// Returns true if the first line of these bytes is an object with a recording: JSON lines of NeMo
/// may name the corpus that they are from.
bool begins_json_lines(const std::string& head) {
  const std::string line = head.substr(0, head.find('\n', head.find_first_not_of("\r\n\t ")));
  const auto json = nlohmann::json::parse(line, nullptr, false);
  return json.is_object() && json.contains("audio_filepath");
}

bool is_gigaspeech(const std::filesystem::path& file) {
  std::string head(kHead, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), std::ssize(head));
  head.resize(static_cast<std::size_t>(in.gcount()));
  const auto has = [&](const char* text) { return head.find(text) != std::string::npos; };
  return has("\"GigaSpeech\"") && has("\"dataset\"") && has("\"audios\"") &&
         !begins_json_lines(head);
}

/// Removes marks. Returns nothing for a segment without speech.
std::optional<std::string> spoken(const std::string& text) {
  std::istringstream words(text);
  std::string kept;
  for (std::string word; words >> word;) {
    if (std::ranges::find(kWithoutSpeech, word) != kWithoutSpeech.end()) return std::nullopt;
    if (std::ranges::find(kPunctuation, word) == kPunctuation.end())
      kept += (kept.empty() ? "" : " ") + word;
  }
  return kept;
}

/// Reads the segments of one subset.
class GigaspeechSubset {
 public:
  GigaspeechSubset(const ManifestReading& reading, GigaspeechName name)
      : reading_(reading), name_(std::move(name)) {}

  void add_audio(const nlohmann::json& audio) {
    const auto path = string_in(audio, "path");
    for (const auto& segment : part_in(audio, "segments")) {
      const std::string sid = string_in(segment, "sid").value_or("a segment without sid");
      if (!is_chosen(segment)) continue;
      ++found_;
      if (path && !path->empty())
        add_segment(segment, *path, name_.file.filename().string() + ":" + sid);
      else
        reading_.faults.add(sid, "its recording has no \"path\"");
    }
  }

  void require_found() const {
    if (found_ > 0) return;
    throw DataError(
        fmt::format("manifest {}: has no segment of a subset {}; its subsets are {}",
                    reading_.manifest.string(), name_.subset,
                    subsets_.empty() ? "none" : fmt::format("{}", fmt::join(subsets_, ", "))));
  }

 private:
  /// Returns true if a segment belongs to the subset. Its names are in braces: "{XL}".
  bool is_chosen(const nlohmann::json& segment) {
    bool chosen = false;
    for (const auto& subset : part_in(segment, "subsets")) {
      std::string name = subset.is_string() ? subset.get<std::string>() : "";
      std::erase_if(name, [](char c) { return c == '{' || c == '}'; });
      chosen = chosen || name == name_.subset;
      if (subsets_.size() < kMostNamed) subsets_.insert(std::move(name));
    }
    return chosen;
  }

  void add_segment(const nlohmann::json& segment, const std::string& path,
                   const std::string& where) const {
    const auto begin = number_in(segment, "begin_time"), end = number_in(segment, "end_time");
    if (!begin || !end || *begin < 0 || *end <= *begin)
      return reading_.faults.add(
          where, "its \"begin_time\" and \"end_time\" are not seconds, one after the other");
    const auto text = string_in(segment, "text_tn");
    if (!text) return reading_.faults.add(where, "has no \"text_tn\"");
    if (const auto words = spoken(*text))
      reading_.add({name_.file.parent_path() / path, *words, *end - *begin, where, *begin});
  }

  static constexpr std::size_t kMostNamed = 16;

  const ManifestReading& reading_;
  GigaspeechName name_;
  std::size_t found_ = 0;
  std::set<std::string> subsets_;  // some of those that occur, for the message
};

}  // namespace

std::optional<GigaspeechName> gigaspeech_name(const std::filesystem::path& manifest) {
  const std::string& whole = manifest.native();
  std::error_code error;
  if (std::filesystem::is_regular_file(manifest, error))
    return manifest.extension() == ".json" && is_gigaspeech(manifest)
               ? std::optional(GigaspeechName{manifest, ""})
               : std::nullopt;
  const std::size_t colon = whole.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::filesystem::path file = whole.substr(0, colon);
  if (!std::filesystem::is_regular_file(file, error) || !is_gigaspeech(file)) return std::nullopt;
  return GigaspeechName{file, whole.substr(colon + 1)};
}

void read_gigaspeech(const ManifestReading& reading) {
  const auto name = gigaspeech_name(reading.manifest);
  if (!name || name->subset.empty())
    throw DataError(
        fmt::format("manifest {0}: holds all subsets, those of tests too: name one, as "
                    "{0}:M (XS, S, M, L, XL, DEV or TEST)",
                    reading.manifest.string()));
  reading.sources.push_back(name->file);
  GigaspeechSubset subset(reading, *name);
  const auto take = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && std::cmp_greater_equal(depth, kDeepestNesting))
      throw DataError(
          fmt::format("{}: its values nest deeper than {}", name->file.string(), kDeepestNesting));
    if (depth != kAudioDepth || event != Event::object_end) return true;
    subset.add_audio(value);
    return false;  // it is forgotten
  };
  std::ifstream in(name->file, std::ios::binary);
  if (!in) throw DataError(name->file.string() + ": cannot be read");
  try {
    [[maybe_unused]] const auto rest = nlohmann::json::parse(in, take);
  } catch (const nlohmann::json::exception& error) {
    throw DataError(
        fmt::format("{}: is no whole JSON object: {}", name->file.string(), error.what()));
  }
  subset.require_found();
}

}  // namespace penstock::runtime
