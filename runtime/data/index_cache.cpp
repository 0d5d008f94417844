#include "runtime/data/index_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>

#include "base/atomic_write.h"

namespace penstock::runtime {
namespace {

constexpr const char* kMagic = "penstock audio index 1 ";

/// First line of a file with this body: the magic and the body's hash.
std::string heading(const std::string& body) {
  return fmt::format("{}{}\n", kMagic, XXH3_64bits(body.data(), body.size()));
}

}  // namespace

std::optional<FileStamp> stamp_of(const std::filesystem::path& file) {
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file, error);
  if (error) return std::nullopt;
  const auto changed = std::filesystem::last_write_time(file, error);
  if (error) return std::nullopt;
  return FileStamp{static_cast<std::int64_t>(bytes),
                   std::chrono::nanoseconds(changed.time_since_epoch()).count()};
}

std::optional<IndexCache> read_index_cache(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string first;
  if (!std::getline(in, first)) return std::nullopt;
  std::string body(std::istreambuf_iterator<char>(in), {});
  if (first + "\n" != heading(body)) return std::nullopt;
  IndexCache cache;
  std::istringstream lines(std::move(body));
  CachedLength cached;
  while (lines >> cached.stamp.bytes >> cached.stamp.changed >> cached.length.samples >>
         cached.length.rate) {
    std::string path;
    std::getline(lines.ignore(1), path);
    cache[path] = cached;
  }
  return cache;
}

bool write_index_cache(const IndexCache& cache, const std::filesystem::path& file) {
  std::string body;
  for (const auto& [path, cached] : cache)
    if (path.find('\n') == std::string::npos)
      body += fmt::format("{} {} {} {} {}\n", cached.stamp.bytes, cached.stamp.changed,
                          cached.length.samples, cached.length.rate, path);
  return atomic_write(file, heading(body) + body);
}

}  // namespace penstock::runtime
