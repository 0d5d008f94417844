#include "runtime/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/mapped_file.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/shard.h"

// A checkpoint maps each tensor's name to blocks of elements, and each block to bytes of a shard.
// The map comes from the manifest alone: place_pieces() collects the pieces of all shards by name.
// read() walks the blocks of one tensor and copies the part of each that it was asked for. So it
// does not matter how many stages and replicas wrote the shards, nor how many read them. In this
// example, two replicas wrote a weight of 10 elements, and elements [3, 8) are read:
//
//   shard               block    read             bytes of the shard, for numbers of 4 bytes
//   stage-0-replica-0   [0, 5)   elements 3, 4    file_begin + 12 to file_begin + 20
//   stage-0-replica-1   [5, 10)  elements 5 to 7  file_begin to file_begin + 12
//
// Opening costs a hash of the manifest, of the tokenizer and, for OpenShards::all, of each shard's
// header. Bytes of tensors are hashed by verify() alone.

namespace penstock::runtime {
namespace {

// read() relies on this check: a hole between blocks would leave a part of its output unset.
Manifest checked_manifest(const std::filesystem::path& folder) {
  Manifest manifest = read_manifest(folder);
  try {
    check_coverage(manifest.shards);
    return manifest;
  } catch (const Error& error) {
    throw_fault(folder / kManifestFile, error.what());
  }
}

std::string hash_of(const SafetensorsFile& file, std::uint64_t begin, std::uint64_t end) {
  Xxh3 hash;
  file.read(begin, end, [&](std::span<const std::byte> part) { hash.add(part); });
  return hash.digest();
}

bool counts(const ShardPiece& piece, Verified what) {
  return what == Verified::all || piece.name.starts_with(kAverageTensors) ||
         !(piece.name.starts_with(kSlotTensors) || piece.name.starts_with(kKeptTensors));
}

/// Returns the cost of verifying a piece: its bytes, plus one so that empty pieces count.
std::uint64_t weight_of(const ShardPiece& piece) { return piece.file_end - piece.file_begin + 1; }

std::string shape_text(const layers::Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

constexpr std::size_t kAtOnce = 1 << 16;  // half-precision numbers converted at a time

/// Converts in parts of kAtOnce numbers, so that a large tensor takes 128 KiB besides its output.
template <class HalfFormat>
void read_halves(const Checkpoint& checkpoint, std::string_view name, std::int64_t begin,
                 std::span<float> out) {
  std::vector<HalfFormat> halves(std::min(out.size(), kAtOnce));
  while (!out.empty()) {
    const auto part = std::span(halves).first(std::min(out.size(), halves.size()));
    checkpoint.read(name, begin, begin + std::ssize(part), std::as_writable_bytes(part));
    std::ranges::transform(part, out.begin(), [](HalfFormat x) { return layers::to_float(x); });
    out = out.subspan(part.size());
    begin += std::ssize(part);
  }
}

}  // namespace

// The files lie behind a pointer, since a mutex can't be moved and a Checkpoint can.
struct Checkpoint::OpenFiles {
  explicit OpenFiles(std::size_t shards) : files(shards) {}

  std::mutex mutex;
  std::vector<std::optional<SafetensorsFile>> files;  // one per shard; empty until it is opened
};

// The tokenizer is small and is needed before any tensor, so its hash is compared here.
Checkpoint::Checkpoint(CheckpointPlace place, OpenShards open)
    : place_(std::move(place)),
      manifest_(checked_manifest(place_.folder)),
      files_(std::make_unique<OpenFiles>(manifest_.shards.size())) {
  if (const std::filesystem::path tokenizer = tokenizer_file(); !tokenizer.empty())
    if (xxh3_128(map_file(tokenizer).bytes()) != state().tokenizer_hash)
      throw_fault(tokenizer, "damaged: not the model of pieces that the manifest describes");
  for (std::size_t number = 0; number < shard_count(); ++number) {
    if (open == OpenShards::all) (void)shard(number);
    place_pieces(number);
  }
  for (auto& [name, tensor] : tensors_)
    std::ranges::sort(tensor.blocks, {}, &CheckpointBlock::begin);
}

Checkpoint::~Checkpoint() = default;
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;

std::filesystem::path Checkpoint::tokenizer_file() const {
  return state().tokenizer_hash.empty() ? std::filesystem::path() : place_.folder / kTokenizerFile;
}

std::filesystem::path Checkpoint::shard_path(std::size_t number) const {
  return place_.folder / manifest_.shards.at(number).file;
}

// The lock is held while a shard is opened, so that two threads do not map it twice. The reference
// stays valid without the lock: the vector never grows, and an opened file is never replaced.
// Offsets come from the manifest and not from the shard's header, so the file must have the layout
// that the manifest describes, which its size and its header's hash prove. They prove nothing about
// the numbers: the same shard of another step has the same header. verify() compares the numbers.
const SafetensorsFile& Checkpoint::shard(std::size_t number) const {
  const std::lock_guard lock(files_->mutex);
  std::optional<SafetensorsFile>& file = files_->files.at(number);
  if (file) return *file;
  SafetensorsFile opened(shard_path(number));
  const ShardIndex& described = manifest_.shards[number];
  if (opened.file_bytes() != described.bytes ||
      xxh3_128(opened.header_bytes()) != described.header_hash)
    throw_fault(opened.path(), "not the shard that the manifest describes");
  return file.emplace(std::move(opened));
}

// The mapped file is not checked against these offsets when it is read, so they are checked here.
void Checkpoint::place_pieces(std::size_t shard) {
  const ShardIndex& index = manifest_.shards[shard];
  for (const ShardPiece& piece : index.pieces) {
    const auto bytes =
        static_cast<std::uint64_t>(piece.end - piece.begin) * layers::size_of(piece.dtype);
    if (piece.file_begin > piece.file_end || piece.file_end > index.bytes ||
        piece.file_end - piece.file_begin != bytes)
      throw_fault(place_.folder / kManifestFile,
                  fmt::format("states an impossible place for '{}'", piece.name));
    CheckpointTensor& tensor = tensors_[piece.name];
    tensor.dtype = piece.dtype;
    tensor.shape = piece.full_shape;
    tensor.blocks.push_back({piece.begin, piece.end, shard, piece.file_begin, piece.file_end});
  }
}

// Lays all pieces on a line, each as long as its weight, and cuts the line into equal shares. Every
// rank does the same arithmetic, so each piece is verified by exactly one of them.
void Checkpoint::verify(Verified what, const Share& share) const {
  std::uint64_t total = 0, reached = 0;
  for (const ShardIndex& index : manifest_.shards)
    for (const ShardPiece& piece : index.pieces)
      if (counts(piece, what)) total += weight_of(piece);
  // A piece belongs to the share that contains its middle.
  const auto shared = [&](const ShardPiece& piece) {
    const double middle = static_cast<double>(reached) + static_cast<double>(weight_of(piece)) / 2;
    reached += weight_of(piece);
    return std::min(static_cast<std::size_t>(middle / static_cast<double>(total) *
                                             static_cast<double>(share.of)),
                    share.of - 1) == share.number;
  };
  for (std::size_t i = 0; i < shard_count(); ++i) {
    const std::vector<ShardPiece>& pieces = manifest_.shards[i].pieces;
    // No piece would open a shard without pieces, but its header belongs to the checkpoint too.
    if (pieces.empty() && what == Verified::all && share.number == 0) (void)shard(i);
    for (const ShardPiece& piece : pieces)
      if (counts(piece, what) && shared(piece) &&
          hash_of(shard(i), piece.file_begin, piece.file_end) != piece.hash)
        throw_fault(shard_path(i), fmt::format("damaged: '{}' does not have its hash", piece.name));
  }
  if (what == Verified::all && share.number == 0) verify_files();
}

void Checkpoint::verify_files() const {
  for (const KeptFile& kept : files())
    if (xxh3_128(map_file(place_.folder / kept.file).bytes()) != kept.hash)
      throw_fault(place_.folder / kept.file, "damaged: not the file that the manifest describes");
}

const CheckpointTensor& Checkpoint::tensor(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    throw_fault(place_.folder, fmt::format("holds no tensor '{}'", name));
  return found->second;
}

// The place of an element within a file is file_begin + (element - begin of the block) * width,
// since a block's elements are contiguous and in row-major order.
void Checkpoint::read(std::string_view name, std::int64_t begin, std::int64_t end,
                      std::span<std::byte> out) const {
  const CheckpointTensor& stored = tensor(name);
  const auto width = static_cast<std::int64_t>(layers::size_of(stored.dtype));
  if (begin < 0 || begin > end || end > layers::element_count(stored.shape) ||
      out.size() != static_cast<std::size_t>((end - begin) * width))
    throw_fault(place_.folder,
                fmt::format("elements [{}, {}) of '{}' of shape {} can't be read into {} bytes",
                            begin, end, name, shape_text(stored.shape), out.size()));
  for (const CheckpointBlock& block : stored.blocks) {
    const std::int64_t first = std::max(begin, block.begin), last = std::min(end, block.end);
    if (first >= last) continue;
    const std::uint64_t from =
        block.file_begin + static_cast<std::uint64_t>((first - block.begin) * width);
    std::byte* to = out.data() + (first - begin) * width;
    shard(block.shard)
        .read(from, from + static_cast<std::uint64_t>((last - first) * width),
              [&](std::span<const std::byte> part) {
                std::memcpy(to, part.data(), part.size());
                to += part.size();
              });
  }
}

void Checkpoint::expect(std::string_view name, layers::DType dtype,
                        const layers::Shape& shape) const {
  const CheckpointTensor& stored = tensor(name);
  if (stored.dtype != dtype || stored.shape != shape)
    throw_fault(place_.folder, fmt::format("'{}' is {}{}, but the model expects {}{}", name,
                                           layers::name_of(stored.dtype), shape_text(stored.shape),
                                           layers::name_of(dtype), shape_text(shape)));
}

std::string model_tensor(const Checkpoint& checkpoint, const std::string& name) {
  std::string average = kAverageTensors + name;
  return checkpoint.contains(average) ? average : name;
}

std::string tokenizer_bytes(const Checkpoint& checkpoint) {
  const std::filesystem::path file = checkpoint.tokenizer_file();
  return file.empty() ? std::string() : read_file(file);
}

void expect_floats(const Checkpoint& checkpoint, std::string_view name,
                   const layers::Shape& shape) {
  const layers::DType stored = checkpoint.tensor(name).dtype;
  checkpoint.expect(name, layers::is_half(stored) ? stored : layers::DType::f32, shape);
}

void read_floats(const Checkpoint& checkpoint, std::string_view name, std::int64_t begin,
                 std::span<float> out) {
  const layers::DType stored = checkpoint.tensor(name).dtype;
  if (stored == layers::DType::f16) return read_halves<layers::Half>(checkpoint, name, begin, out);
  if (stored == layers::DType::bf16)
    return read_halves<layers::BFloat16>(checkpoint, name, begin, out);
  checkpoint.read(name, begin, begin + std::ssize(out), std::as_writable_bytes(out));
}

}  // namespace penstock::runtime
