#include "runtime/checkpoint/read_back.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/file_handle.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kReadTogether = 4 << 20;  // bytes per read

std::uint64_t size_of(const FileHandle& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) raise_errno(file.path(), "can't be examined");
  return static_cast<std::uint64_t>(status.st_size);
}

/// Drops the file from the page cache. If the file system ignores the advice, the check reads from
/// memory instead of the disk.
void drop_from_memory(const FileHandle& file) {
  (void)::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

/// Reads the file by pread(), which reports read errors. In a mapped file they would kill the
/// process by SIGBUS.
class BackReader {
 public:
  BackReader(const FileHandle& file, const std::function<void()>& between)
      : file_(file), between_(between) {}

  std::string hash_of(std::uint64_t begin, std::uint64_t end) {
    Xxh3 hash;
    while (begin < end) {
      part_.resize(std::min<std::uint64_t>(end - begin, kReadTogether));
      const std::span<const std::byte> found = read(begin);
      hash.add(found);
      begin += found.size();
      between_();
    }
    return hash.digest();
  }

 private:
  /// Reads from `begin` into part_. Returns at least one byte, possibly less than the whole part.
  std::span<const std::byte> read(std::uint64_t begin) {
    ssize_t found = 0;
    do found = ::pread(file_.descriptor(), part_.data(), part_.size(), static_cast<off_t>(begin));
    while (found < 0 && errno == EINTR);
    if (found < 0) raise_errno(file_.path(), fmt::format("can't be read back at byte {}", begin));
    if (found == 0) throw_fault(file_.path(), fmt::format("read back, it ends at byte {}", begin));
    return std::span(part_).first(static_cast<std::size_t>(found));
  }

  const FileHandle& file_;
  const std::function<void()>& between_;
  std::vector<std::byte> part_;
};

/// Returns the position of the first data byte.
std::uint64_t header_end(const ShardIndex& shard) {
  std::uint64_t end = shard.bytes;
  for (const ShardPiece& piece : shard.pieces) end = std::min(end, piece.file_begin);
  return end;
}

}  // namespace

void read_back(const std::filesystem::path& folder, const ShardIndex& shard,
               const std::function<void()>& between) {
  const std::filesystem::path path = folder / shard.file;
  const FileHandle file(path, O_RDONLY);
  drop_from_memory(file);
  BackReader reader(file, between);
  if (size_of(file) != shard.bytes || reader.hash_of(0, header_end(shard)) != shard.header_hash)
    throw_fault(path, "read back, it is not what was written");
  for (const ShardPiece& piece : shard.pieces)
    if (reader.hash_of(piece.file_begin, piece.file_end) != piece.hash)
      throw_fault(path, fmt::format("read back, '{}' is not what was written", piece.name));
  drop_from_memory(file);
}

}  // namespace penstock::runtime
