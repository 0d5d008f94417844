#include "runtime/data/index.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <cmath>
#include <optional>
#include <unordered_map>

#include "base/counted.h"
#include "base/error.h"
#include "base/parallel_for.h"
#include "runtime/data/index_cache.h"
#include "runtime/data/segment.h"

namespace penstock::runtime {
namespace {

/// Places where the cache may lie, the best first.
std::vector<std::filesystem::path> cache_places(const IndexOptions& options) {
  auto manifest = std::filesystem::absolute(options.manifest).lexically_normal();
  if (!manifest.has_filename()) manifest = manifest.parent_path();
  std::vector<std::filesystem::path> places{manifest.string() + ".index"};
  if (!options.output.empty()) {
    const std::string path = manifest.string();
    places.push_back(options.output / fmt::format("{}-{}.index", manifest.filename().string(),
                                                  XXH3_64bits(path.data(), path.size())));
  }
  return places;
}

IndexCache known_lengths(const std::vector<std::filesystem::path>& places) {
  IndexCache known;
  for (const auto& place : places) {
    if (!std::filesystem::exists(place)) continue;
    if (auto cache = read_index_cache(place))
      known.merge(*cache);
    else
      spdlog::warn("{} is damaged or of another version: the audio is read again", place.string());
  }
  return known;
}

void write_somewhere(const IndexCache& cache, const std::vector<std::filesystem::path>& places) {
  for (const auto& place : places) {
    std::error_code error;
    std::filesystem::create_directories(place.parent_path(), error);
    if (write_index_cache(cache, place)) return;
  }
  spdlog::warn("{} cannot be written: the next run will read the audio again",
               places.back().string());
}

/// A recording that utterances are taken from.
struct Recording {
  std::filesystem::path audio;
  std::string key;  // as the cache has it: relative to the manifest, so that both can move together
  std::optional<FileStamp> stamp;
  AudioLength length = {};
  std::string fault = {};
};

/// Each recording of a manifest's entries once.
class Recordings {
 public:
  Recordings(const std::vector<ManifestEntry>& entries, const std::filesystem::path& folder) {
    std::unordered_map<std::string, std::size_t> places;
    for (const ManifestEntry& entry : entries) {
      const auto [at, fresh] = places.try_emplace(entry.audio.native(), recordings_.size());
      of_entries_.push_back(at->second);
      if (!fresh) continue;
      const auto path = std::filesystem::absolute(entry.audio).lexically_proximate(folder);
      recordings_.push_back({entry.audio, path.string(), stamp_of(entry.audio)});
    }
  }

  std::size_t size() const { return recordings_.size(); }
  const Recording& of_entry(std::size_t entry) const { return recordings_[of_entries_[entry]]; }

  /// Takes the lengths that the cache knows, and returns the places of the others.
  std::vector<std::size_t> unknown(const IndexCache& known) {
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < recordings_.size(); ++i) {
      Recording& recording = recordings_[i];
      const auto found = known.find(recording.key);
      if (recording.stamp && found != known.end() && found->second.stamp == *recording.stamp)
        recording.length = found->second.length;
      else
        unknown.push_back(i);
    }
    return unknown;
  }

  void measure(std::size_t place, bool fresh) {
    Recording& recording = recordings_[place];
    try {
      recording.length = fresh ? measure_audio(recording.audio) : audio_length(recording.audio);
    } catch (const DataError& error) {
      recording.fault = error.what();
    }
  }

  IndexCache cache() const {
    IndexCache cache;
    for (const Recording& recording : recordings_)
      if (recording.stamp && recording.fault.empty())
        cache[recording.key] = {*recording.stamp, recording.length};
    return cache;
  }

 private:
  std::vector<Recording> recordings_;
  std::vector<std::size_t> of_entries_;
};

/// What an entry makes of its recording.
IndexedAudio utterance_of(const ManifestEntry& entry, const Recording& recording) {
  const AudioLength& whole = recording.length;
  if (!recording.fault.empty()) return {.fault = recording.fault};
  if (!entry.offset) {
    const double off = entry.duration ? std::abs(*entry.duration - whole.seconds()) : 0;
    if (off <= kDurationTolerance) return {.length = whole};
    return {.fault =
                fmt::format("its duration is {:g} s, but {} lasts {:.6g} s: correct it, or, if "
                            "a segment is meant, give its \"offset\" as well",
                            *entry.duration, recording.audio.string(), whole.seconds())};
  }
  try {
    const SampleRange range = samples_of({*entry.offset, entry.duration}, whole);
    return {.length = {range.samples, whole.rate}, .first = range.first};
  } catch (const DataError& error) {
    return {.fault = fmt::format("{}: {}", recording.audio.string(), error.what())};
  }
}

}  // namespace

std::vector<IndexedAudio> index_audio(const std::vector<ManifestEntry>& entries,
                                      const IndexOptions& options) {
  const auto places = cache_places(options);
  const IndexCache known = options.fresh ? IndexCache() : known_lengths(places);
  Recordings recordings(entries, places.front().parent_path());
  if (const auto unknown = recordings.unknown(known); !unknown.empty()) {
    spdlog::info("measuring the lengths of {} of {} of {}", unknown.size(),
                 counted(recordings.size(), "recording"), options.manifest.string());
    parallel_for(unknown.size(), options.threads,
                 [&](std::size_t u) { recordings.measure(unknown[u], options.fresh); });
    write_somewhere(recordings.cache(), places);
  }
  std::vector<IndexedAudio> index;
  for (std::size_t i = 0; i < entries.size(); ++i)
    index.push_back(utterance_of(entries[i], recordings.of_entry(i)));
  return index;
}

}  // namespace penstock::runtime
