#include "runtime/data/index/file_stamp.h"

#include <sys/stat.h>

#include <fstream>
#include <vector>

#include "runtime/data/index/stream_hash.h"
#include "runtime/data/manifest/tar_member.h"

namespace penstock::runtime {
namespace {

/// Resolution of a file system's clock, in nanoseconds: milliseconds on most, up to two seconds on
/// some.
constexpr std::int64_t kTick = 2'000'000'000;

}  // namespace

FileStamp stamp_of(const std::filesystem::path& file) {
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return {};
  return {
      static_cast<std::int64_t>(status.st_size),
      static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

std::uint64_t digest_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  StreamHash hash;
  std::vector<char> block(1 << 20);
  while (in) {
    in.read(block.data(), std::ssize(block));
    hash.add({block.data(), static_cast<std::size_t>(in.gcount())});
  }
  return in.bad() || !in.eof() ? 0 : hash.digest();
}

IndexSource source_of(const std::filesystem::path& path, const std::string& key,
                      const FileStamp& before) {
  IndexSource source{key, before};
  const bool large = is_tar_name(path);  // a tar may be large, so it is not read for a digest
  if (!large && std::filesystem::is_regular_file(path)) source.digest = digest_of(path);
  if (stamp_of(path) != before) source.digest = 0;
  return source;
}

// A file may change twice within one tick of the clock, with the same size, and keep its time of
// change. So a time is believed only if it was older than a tick when the index was made. Git has
// the same problem with its index.
bool unchanged(const IndexSource& source, const std::filesystem::path& path, std::int64_t made) {
  const FileStamp now = stamp_of(path);
  if (now == source.stamp && (now.bytes < 0 || now.changed + kTick < made)) return true;
  std::error_code error;  // a device or a pipe, which an index may name, has no end to read to
  return now.bytes == source.stamp.bytes && source.digest != 0 &&
         std::filesystem::is_regular_file(path, error) && digest_of(path) == source.digest;
}

}  // namespace penstock::runtime
