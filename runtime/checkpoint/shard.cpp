#include "runtime/checkpoint/shard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"

// A shard is a safetensors file with the pieces of one rank. A whole tensor has its own name and
// shape, so that other programs can read it. A part of one is a range of its elements in row-major
// order, which is no rectangle in general, so it is stored as a flat list:
//
//   "conv1.weight"             F32 [64, 80, 3]    whole
//   "linear.weight[0:5120]"    F32 [5120]         elements [0, 5120) of a larger tensor
//
// The ranges within the names are for people. Readers take them from the ShardIndex, which the rank
// sends to rank 0 as text and rank 0 stores in the manifest.
//
// A shard is checked twice. The rank that wrote it reads it back from the disk, which finds what
// memory, controller or disk have changed. Rank 0 checks that all shards together hold each element
// exactly once, which finds faults of the partition. Both happen before the checkpoint exists.

namespace penstock::runtime {
namespace {

constexpr std::size_t kReadTogether = 4 << 20;  // bytes per read

NamedTensor to_tensor(const CheckpointPiece& piece) {
  const std::int64_t count = layers::element_count(piece.full_shape);
  const std::string range = fmt::format("[{}:{}]", piece.begin, piece.end);
  if (piece.begin < 0 || piece.begin > piece.end || piece.end > count)
    throw CheckpointError(fmt::format("the block {} lies outside '{}', which has {}", range,
                                      piece.name, counted(count, "element")));
  void* data = const_cast<void*>(piece.data);  // the writer does not modify it
  if (piece.end - piece.begin == count) return {piece.name, {data, piece.dtype, piece.full_shape}};
  return {piece.name + range, {data, piece.dtype, {piece.end - piece.begin}}};
}

/// A piece and the shard that has it, for messages.
struct Placed {
  const ShardPiece* piece;
  const std::string* file;
};

std::string range_text(std::int64_t begin, std::int64_t end) {
  return fmt::format("[{}, {})", begin, end);
}

[[noreturn]] void throw_uncovered(std::string_view name, const std::string& reason) {
  throw CheckpointError(fmt::format("tensor '{}' {}", name, reason));
}

/// Sorts the pieces by their first element and walks through them. Each must begin where the
/// previous one ends; the last must end with the tensor. `reached` is the first element that no
/// piece has covered yet. An empty block is allowed only for an empty tensor, which needs exactly
/// one.
void check_tensor(std::string_view name, std::vector<Placed>& pieces) {
  std::ranges::sort(pieces, {}, [](const Placed& placed) { return placed.piece->begin; });
  const ShardPiece& first = *pieces.front().piece;
  const std::int64_t count = layers::element_count(first.full_shape);
  std::int64_t reached = 0;
  const std::string* before = pieces.front().file;
  for (const auto& [piece, file] : pieces) {
    if (piece->dtype != first.dtype || piece->full_shape != first.full_shape)
      throw_uncovered(name, fmt::format("has one dtype or shape in {} and another in {}",
                                        *pieces.front().file, *file));
    if (piece->begin > reached)
      throw_uncovered(name, fmt::format("lacks elements {}", range_text(reached, piece->begin)));
    if (piece->begin < reached)
      throw_uncovered(name, fmt::format("is held twice from element {}: in {} and in {}",
                                        piece->begin, *before, *file));
    if (piece->end > count || piece->end < piece->begin ||
        (piece->end == piece->begin && count > 0))
      throw_uncovered(name, fmt::format("has the impossible block {} in {}",
                                        range_text(piece->begin, piece->end), *file));
    reached = piece->end;
    before = file;
  }
  if (reached != count)
    throw_uncovered(name, fmt::format("lacks elements {}", range_text(reached, count)));
  if (count == 0 && pieces.size() > 1) throw_uncovered(name, "is empty and held twice");
}

std::uint64_t file_bytes(const FileHandle& file) {
  struct stat status {};
  if (::fstat(file.descriptor(), &status) != 0) raise_errno(file.path(), "can't be examined");
  return static_cast<std::uint64_t>(status.st_size);
}

/// Drops the file from the page cache. If the file system ignores the advice, the check reads from
/// memory instead of the disk. Only clean pages can be dropped. All of them are, since
/// write_shard() has flushed the file.
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

ShardIndex write_shard(const std::filesystem::path& folder, const std::string& shard,
                       std::span<const CheckpointPiece> pieces, const TensorBytes& bytes) {
  std::vector<NamedTensor> tensors;
  for (const CheckpointPiece& piece : pieces) tensors.push_back(to_tensor(piece));
  ShardIndex index{shard + ".safetensors", 0, {}, {}};
  const SafetensorsLayout layout = write_safetensors(folder / index.file, tensors, {}, bytes);
  index.bytes = layout.file_bytes;
  index.header_hash = xxh3_128(layout.header);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    index.pieces.push_back({pieces[i].name, pieces[i].dtype, pieces[i].full_shape, pieces[i].begin,
                            pieces[i].end, layout.entries[i].begin, layout.entries[i].end,
                            layout.hashes[i]});
  return index;
}

void read_back(const std::filesystem::path& folder, const ShardIndex& shard,
               const std::function<void()>& between) {
  const std::filesystem::path path = folder / shard.file;
  const FileHandle file(path, O_RDONLY);
  drop_from_memory(file);
  BackReader reader(file, between);
  if (file_bytes(file) != shard.bytes || reader.hash_of(0, header_end(shard)) != shard.header_hash)
    throw_fault(path, "read back, it is not what was written");
  for (const ShardPiece& piece : shard.pieces)
    if (reader.hash_of(piece.file_begin, piece.file_end) != piece.hash)
      throw_fault(path, fmt::format("read back, '{}' is not what was written", piece.name));
  drop_from_memory(file);
}

void check_coverage(const std::vector<ShardIndex>& shards) {
  std::set<std::string_view> files;
  std::map<std::string_view, std::vector<Placed>> tensors;
  for (const ShardIndex& shard : shards) {
    if (!files.insert(shard.file).second)
      throw CheckpointError("two ranks wrote the shard " + shard.file);
    for (const ShardPiece& piece : shard.pieces)
      tensors[piece.name].push_back({&piece, &shard.file});
  }
  for (auto& [name, pieces] : tensors) check_tensor(name, pieces);
}

}  // namespace penstock::runtime
