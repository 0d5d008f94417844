#include "runtime/data/index.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <xxhash.h>

#include <optional>

#include "base/counted.h"
#include "base/error.h"
#include "base/parallel_for.h"
#include "runtime/data/index_cache.h"

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

}  // namespace

std::vector<IndexedAudio> index_audio(const std::vector<ManifestEntry>& entries,
                                      const IndexOptions& options) {
  const auto places = cache_places(options);
  const auto folder = places.front().parent_path();
  const IndexCache known = options.fresh ? IndexCache() : known_lengths(places);
  // A path as the cache has it: relative to the manifest, so that both can move together.
  const auto key = [&](const ManifestEntry& entry) {
    return std::filesystem::absolute(entry.audio).lexically_proximate(folder).string();
  };

  std::vector<IndexedAudio> index(entries.size());
  std::vector<std::optional<FileStamp>> stamps(entries.size());
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    stamps[i] = stamp_of(entries[i].audio);
    const auto found = known.find(key(entries[i]));
    if (stamps[i] && found != known.end() && found->second.stamp == *stamps[i])
      index[i].length = found->second.length;
    else
      unknown.push_back(i);
  }
  if (unknown.empty()) return index;

  spdlog::info("measuring the lengths of {} of {} of {}", unknown.size(),
               counted(entries.size(), "recording"), options.manifest.string());
  parallel_for(unknown.size(), options.threads, [&](std::size_t u) {
    const std::size_t i = unknown[u];
    try {
      index[i].length = measure_audio(entries[i].audio);
    } catch (const DataError& error) {
      index[i].fault = error.what();
    }
  });

  IndexCache cache;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (stamps[i] && index[i].fault.empty()) cache[key(entries[i])] = {*stamps[i], index[i].length};
  write_somewhere(cache, places);
  return index;
}

}  // namespace penstock::runtime
