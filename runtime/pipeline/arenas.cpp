#include "runtime/pipeline/arenas.h"

#include <algorithm>

#include "runtime/pipeline/parameter_store.h"

namespace penstock::runtime {
namespace {

/// Returns the distance in elements from the start of `arena` to `part`, which may lie in other
/// memory.
std::int64_t offset(const layers::Tensor& arena, const layers::Tensor& part) {
  const auto bytes =
      reinterpret_cast<std::intptr_t>(part.data) - reinterpret_cast<std::intptr_t>(arena.data);
  return static_cast<std::int64_t>(bytes) / static_cast<std::int64_t>(layers::size_of(arena.dtype));
}

/// Returns a block at the piece's first element whose count is that of the whole piece.
layers::ArenaBlock place_of(const ParameterStore& store, const partition::ParameterPiece& piece) {
  layers::ArenaBlock block;
  block.place = piece.first_block;
  block.count = piece.count;
  block.gradient = offset(store.gradient_arena(), store.gradient(piece, 0));
  block.weight = offset(store.weight_arena(), store.weight(piece));
  if (store.slots_of_elements() > 0) block.slot = offset(store.slot_arena(0), store.slot(piece, 0));
  if (const layers::Tensor rounded = store.copy(piece); rounded.data != nullptr)
    block.rounded = offset(store.copy_arena(), rounded);
  return block;
}

// Returns the norm block that begins `elements` after the piece's first element.
layers::ArenaBlock moved(layers::ArenaBlock block, std::int64_t elements) {
  block.place += elements / layers::kNormBlock;
  block.count = std::min(layers::kNormBlock, block.count - elements);
  block.gradient += elements;
  block.weight += elements;
  block.slot += elements;
  if (block.rounded >= 0) block.rounded += elements;
  return block;
}

}  // namespace

// A model has thousands of parameters, most of them small. With this table, an update or a norm is
// one kernel over all blocks of at most kNormBlock elements, and not one for each parameter. The
// blocks are those of the norm, so that both use one table.
ArenaTable::ArenaTable(layers::Backend& backend, layers::Stream& stream,
                       const ParameterStore& store) {
  std::vector<layers::ArenaBlock> blocks;
  for (const partition::ParameterPiece& piece : store.owned()) {
    const layers::ArenaBlock whole = place_of(store, piece);
    for (std::int64_t first = 0; first < piece.count; first += layers::kNormBlock)
      blocks.push_back(moved(whole, first));
    starts_.push_back(static_cast<std::int64_t>(blocks.size()));
    rates_.push_back(store.parameters()[piece.parameter].decl.rate);
  }
  if (blocks.empty()) return;
  memory_ = backend.allocate(blocks.size() * sizeof(layers::ArenaBlock));
  backend.copy_in(stream, memory_.data(), blocks.data(), memory_.bytes());
}

std::vector<RatedBlocks> ArenaTable::by_rate() const {
  std::vector<RatedBlocks> runs;
  for (std::size_t begin = 0, end = 0; begin < rates_.size(); begin = end) {
    while (end < rates_.size() && rates_[end] == rates_[begin]) ++end;
    runs.push_back({part(begin, end), rates_[begin]});
  }
  return runs;
}

layers::ArenaBlocks ArenaTable::part(std::size_t begin, std::size_t end) const {
  const auto* const table = reinterpret_cast<const layers::ArenaBlock*>(memory_.data());
  return {table + starts_[begin], starts_[end] - starts_[begin]};
}

}  // namespace penstock::runtime
