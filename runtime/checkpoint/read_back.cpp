#include "runtime/checkpoint/read_back.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "base/file_handle.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/safetensors.h"

namespace penstock::runtime {
namespace {

/// Where a file system has no such advice, the bytes come from memory: nothing else is lost.
void drop_from_memory(const std::filesystem::path& file) {
  const FileHandle handle(file, O_RDONLY);
  (void)::posix_fadvise(handle.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace

void read_back(const std::filesystem::path& folder, const ShardIndex& shard,
               const std::function<void()>& between) {
  const std::filesystem::path path = folder / shard.file;
  drop_from_memory(path);
  const SafetensorsFile file(path);
  if (file.file_bytes() != shard.bytes || xxh3_128(file.header_bytes()) != shard.header_hash)
    throw_fault(path, "read back, it is not what was written");
  for (const ShardPiece& piece : shard.pieces) {
    Xxh3 hash;
    file.read(piece.file_begin, piece.file_end, [&](std::span<const std::byte> part) {
      hash.add(part);
      between();
    });
    if (hash.digest() != piece.hash)
      throw_fault(path, fmt::format("read back, '{}' is not what was written", piece.name));
  }
  drop_from_memory(path);
}

}  // namespace penstock::runtime
