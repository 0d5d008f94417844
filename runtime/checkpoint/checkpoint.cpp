#include "runtime/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "runtime/checkpoint/coverage.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/mapped_file.h"

namespace penstock::runtime {
namespace {

Manifest read_manifest(const std::filesystem::path& path) {
  const MappedFile file(path);
  try {
    const std::span<const std::byte> bytes = file.bytes();
    Manifest manifest = parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    check_coverage(manifest.shards);
    return manifest;
  } catch (const Error& error) {
    throw_fault(path, error.what());
  }
}

std::string hash_of(const SafetensorsFile& file, std::uint64_t begin, std::uint64_t end) {
  Xxh3 hash;
  file.read(begin, end, [&](std::span<const std::byte> part) { hash.add(part); });
  return hash.digest();
}

std::string shape_text(const layers::Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

Checkpoint::Checkpoint(std::filesystem::path folder)
    : folder_(std::move(folder)), manifest_(read_manifest(folder_ / kManifestFile)) {
  if (const std::filesystem::path tokenizer = tokenizer_file(); !tokenizer.empty())
    if (xxh3_128(MappedFile(tokenizer).bytes()) != state().tokenizer_hash)
      throw_fault(tokenizer, "damaged: not the model of pieces that the manifest describes");
  for (const ShardIndex& shard : manifest_.shards) open_shard(shard);
  for (auto& [name, tensor] : tensors_)
    std::ranges::sort(tensor.blocks, {}, &CheckpointBlock::begin);
}

std::filesystem::path Checkpoint::tokenizer_file() const {
  return state().tokenizer_hash.empty() ? std::filesystem::path() : folder_ / kTokenizerFile;
}

void Checkpoint::open_shard(const ShardIndex& shard) {
  const SafetensorsFile& file = files_.emplace_back(folder_ / shard.file);
  if (file.file_bytes() != shard.bytes || xxh3_128(file.header_bytes()) != shard.header_hash)
    throw_fault(file.path(), "not the shard that the manifest describes");
  for (const ShardPiece& piece : shard.pieces) {
    const auto bytes =
        static_cast<std::uint64_t>(piece.end - piece.begin) * layers::size_of(piece.dtype);
    if (piece.file_begin > piece.file_end || piece.file_end > shard.bytes ||
        piece.file_end - piece.file_begin != bytes)
      throw_fault(folder_ / kManifestFile,
                  fmt::format("states an impossible place for '{}'", piece.name));
    CheckpointTensor& tensor = tensors_[piece.name];
    tensor.dtype = piece.dtype;
    tensor.shape = piece.full_shape;
    tensor.blocks.push_back(
        {piece.begin, piece.end, files_.size() - 1, piece.file_begin, piece.file_end});
  }
}

void Checkpoint::verify() const {
  for (std::size_t i = 0; i < files_.size(); ++i)
    for (const ShardPiece& piece : manifest_.shards[i].pieces)
      if (hash_of(files_[i], piece.file_begin, piece.file_end) != piece.hash)
        throw_fault(files_[i].path(),
                    fmt::format("damaged: '{}' does not have its hash", piece.name));
  for (const KeptFile& kept : files())
    if (xxh3_128(MappedFile(folder_ / kept.file).bytes()) != kept.hash)
      throw_fault(folder_ / kept.file, "damaged: not the file that the manifest describes");
}

const CheckpointTensor& Checkpoint::tensor(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) throw_fault(folder_, fmt::format("holds no tensor '{}'", name));
  return found->second;
}

void Checkpoint::read(std::string_view name, std::int64_t begin, std::int64_t end,
                      std::span<std::byte> out) const {
  const CheckpointTensor& stored = tensor(name);
  const auto width = static_cast<std::int64_t>(layers::size_of(stored.dtype));
  if (begin < 0 || begin > end || end > layers::element_count(stored.shape) ||
      out.size() != static_cast<std::size_t>((end - begin) * width))
    throw_fault(folder_,
                fmt::format("elements [{}, {}) of '{}' of shape {} can't be read into {} bytes",
                            begin, end, name, shape_text(stored.shape), out.size()));
  for (const CheckpointBlock& block : stored.blocks) {
    const std::int64_t first = std::max(begin, block.begin), last = std::min(end, block.end);
    if (first >= last) continue;
    const std::uint64_t from =
        block.file_begin + static_cast<std::uint64_t>((first - block.begin) * width);
    std::byte* to = out.data() + (first - begin) * width;
    files_[block.shard].read(from, from + static_cast<std::uint64_t>((last - first) * width),
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
    throw_fault(folder_, fmt::format("'{}' is {}{}, but the model expects {}{}", name,
                                     layers::name_of(stored.dtype), shape_text(stored.shape),
                                     layers::name_of(dtype), shape_text(shape)));
}

}  // namespace penstock::runtime
