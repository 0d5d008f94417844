#include "runtime/checkpoint/shard.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/error.h"
#include "runtime/checkpoint/hash.h"

namespace penstock::runtime {
namespace {

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

}  // namespace penstock::runtime
