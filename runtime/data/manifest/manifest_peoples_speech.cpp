#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "runtime/data/manifest/json_line.h"

// The People's Speech has a line for each long recording, with the utterances that were cut from
// it:
//
//   train/clean.json    {"identifier": "…", "training_data": {"duration_ms": [15530, …],
//                        "label": ["text of the first", …], "name": ["x/y/0.flac", …]}}
//
// The utterances are in a folder named as the manifest, or in the manifest's own.

namespace penstock::runtime {
namespace {

constexpr double kMilliseconds = 1000;  // in a second

/// Returns the folder from which the recordings' paths start, judged by the first.
std::filesystem::path start_of_paths(const ManifestReading& reading, const std::string& first) {
  const auto folder = reading.manifest.parent_path();
  auto own = folder / reading.manifest.stem();
  std::error_code error;
  for (const auto& place : {own, folder})
    if (std::filesystem::exists(place / first, error)) return place;
  if (reading.files != nullptr && reading.files->holds(reading.manifest)) return own;
  throw DataError(fmt::format("{}: its first recording is neither {} nor {}: unpack its tars in {}",
                              reading.manifest.string(), (own / first).string(),
                              (folder / first).string(), own.string()));
}

class PeoplesSpeech {
 public:
  explicit PeoplesSpeech(const ManifestReading& reading) : reading_(reading) {}

  void add(const nlohmann::json& line, const std::string& where) {
    const nlohmann::json& data = part_in(line, "training_data");
    const nlohmann::json &names = part_in(data, "name"), &texts = part_in(data, "label"),
                         &lengths = part_in(data, "duration_ms");
    if (names.empty() || names.size() != texts.size() || names.size() != lengths.size())
      return reading_.faults.add(
          where, fmt::format("its \"training_data\" has {} names, {} labels and {} durations: as "
                             "many of each are expected",
                             names.size(), texts.size(), lengths.size()));
    if (!names.is_array() || !texts.is_array() || !lengths.is_array())
      return reading_.faults.add(where, "its \"training_data\" is not of three arrays");
    for (std::size_t i = 0; i < names.size(); ++i) add(names[i], texts[i], lengths[i], where);
  }

 private:
  void add(const nlohmann::json& name, const nlohmann::json& text, const nlohmann::json& length,
           const std::string& where) {
    if (!name.is_string() || !text.is_string() || !length.is_number() ||
        !(length.get<double>() > 0))
      return reading_.faults.add(
          where, fmt::format("its utterance {} is not a name, a text and milliseconds above 0",
                             name.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)));
    const auto file = name.get<std::string>();
    if (!start_) start_ = start_of_paths(reading_, file);
    reading_.add({*start_ / file, trimmed(text.get<std::string>()),
                  length.get<double>() / kMilliseconds, where});
  }

  const ManifestReading& reading_;
  std::optional<std::filesystem::path> start_ = {};
};

}  // namespace

void read_peoples_speech(const ManifestReading& reading) {
  PeoplesSpeech corpus(reading);
  reading.sources.push_back(reading.manifest);
  for_each_line(reading, reading.manifest, [&](const std::string& text, std::size_t number) {
    const std::string where = reading.at_line(number);
    if (const auto line = json_in_line<nlohmann::json>(reading, text, where))
      corpus.add(*line, where);
  });
}

}  // namespace penstock::runtime
