#include "runtime/checkpoint/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"

namespace penstock::runtime {
namespace {

struct Placed {
  const ShardPiece* piece;
  const std::string* file;
};

std::string range_of(std::int64_t begin, std::int64_t end) {
  return fmt::format("[{}, {})", begin, end);
}

[[noreturn]] void throw_uncovered(std::string_view name, const std::string& reason) {
  throw CheckpointError(fmt::format("tensor '{}' {}", name, reason));
}

// Sorts the pieces by their first element and walks through them. Each must begin where the
// previous one ends; the last must end with the tensor.
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
      throw_uncovered(name, fmt::format("lacks elements {}", range_of(reached, piece->begin)));
    if (piece->begin < reached)
      throw_uncovered(name, fmt::format("is held twice from element {}: in {} and in {}",
                                        piece->begin, *before, *file));
    if (piece->end > count || piece->end < piece->begin ||
        (piece->end == piece->begin && count > 0))
      throw_uncovered(name, fmt::format("has the impossible block {} in {}",
                                        range_of(piece->begin, piece->end), *file));
    reached = piece->end;
    before = file;
  }
  if (reached != count)
    throw_uncovered(name, fmt::format("lacks elements {}", range_of(reached, count)));
  if (count == 0 && pieces.size() > 1) throw_uncovered(name, "is empty and held twice");
}

}  // namespace

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
