#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers/tensor/parameter_blocks.h"
#include "partition/layout/shards.h"

namespace penstock::partition {

/// A ParameterEntry is one parameter's place in the arenas of its stage.
struct ParameterEntry {
  layers::ParamDecl decl;
  std::size_t layer = 0;   // index within the stage
  std::size_t offset = 0;  // bytes; the same in every arena that holds the whole stage
  /// True if the parameter has gradient sums, because some parameter of its part of the layer is
  /// trained.
  bool summed = true;
  std::int64_t elements = 0;
  std::int64_t first_block = 0;  // index of the first of its norm blocks in the model
  /// Bytes; offset of the copy that layers read instead of the master, if there is one.
  std::size_t copy_offset = 0;
  std::int64_t index = 0;  // index among the stage's parameters
};

/// A ParameterPiece is elements [first, first + count) of a parameter: whole norm blocks, which one
/// rank updates.
struct ParameterPiece {
  std::size_t parameter = 0;  // index among the stage's parameters
  std::int64_t first = 0, count = 0;
  std::int64_t first_block = 0;  // index of its first norm block in the model
  std::size_t slot_offset = 0;   // bytes, in each slot of the optimizer
  /// Bytes, among the masters, or among the copies if the master lies there.
  std::size_t master_offset = 0;

  std::int64_t blocks() const { return layers::norm_blocks(count); }
};

/// The format of the numbers in a slot of the optimizer.
enum class SlotFormat {
  full,   // the type of the masters
  bf16,   // bfloat16
  codes,  // 8-bit codes, with an FP32 scale for each code block of a parameter
};

/// ParameterKinds holds the number formats of a stage's parameters, and how replicas share them.
struct ParameterKinds {
  layers::DType dtype = layers::DType::f32;  // type of masters, gradient sums and full slots
  /// Type that layers read. Half-precision values are rounded copies of the masters.
  layers::DType compute = layers::DType::f32;
  Sharing sharing = {};
  SlotFormat slots = SlotFormat::full;

  /// Returns the type of a slot's numbers.
  layers::DType slot_type() const;
};

/// ParameterLayout says where a rank keeps a stage's parameters. The runtime allocates these bytes,
/// and the planner adds them up.
struct ParameterLayout {
  ParameterKinds kinds;
  std::vector<ParameterEntry> parameters;
  std::vector<std::size_t> summed;    // indices of the parameters with gradient sums
  std::vector<ParameterPiece> owned;  // trained pieces of this rank, in parameter order
  std::size_t arena = 0;  // bytes that are whole on every rank: one arena of gradient sums
  /// Bytes of the arena without the sums of tied parameters, which lie at its end.
  std::size_t untied = 0;
  std::size_t masters = 0;
  std::size_t copies = 0;  // bytes of what layers read instead of masters
  std::size_t slot = 0;    // bytes of one slot of the optimizer
  std::size_t scales = 0;  // bytes of scales of a slot that is kept in codes
  /// True if this rank keeps masters of its own pieces only. The copies then hold everything that
  /// layers read, including full-precision parameters.
  bool parts = false;
  /// Bytes of masters and of copies that training changes, from the beginning. The bytes after them
  /// are constant.
  std::size_t changing_masters = 0, changing_copies = 0;
  std::size_t unused_masters = 0;  // bytes among the former whose values are copies alone
  Shards shards;                   // without sharing, one range covers everything

  /// Returns the byte range [first, second) of each bucket that a replica owns in the arena that
  /// layers read. If masters are in parts, this is the arena of copies, otherwise that of masters.
  std::vector<std::pair<std::size_t, std::size_t>> read_ranges(int replica) const;

 private:
  std::size_t read_offset(std::int64_t element) const;
};

/// Lays out the parameters of a stage on `replica`, which matters only if replicas share.
/// `first_blocks[i]` is the number of the model's norm blocks before layer i, since a stage's
/// layers need not be consecutive. Empty means that they are the model's first layers.
///
/// In FP32, layers read the masters. So masters are whole on every replica even if the optimizer's
/// state is shared. A frozen parameter has one value, which is whole on every replica: the copy if
/// layers read one, otherwise the master. If its whole part of a layer is frozen, it lies after all
/// others and has no gradient sum. If not, the place of its master stays unused.
///
/// A tied parameter has one value too, which is whole on every replica, and no place among the
/// masters if layers read halves. Its gradient sums lie after all others. ShapeError if a later
/// parameter with gradient sums is not tied.
ParameterLayout lay_out_parameters(std::span<const layers::LayerPlan> layers,
                                   const ParameterKinds& kinds, int replica,
                                   std::span<const std::int64_t> first_blocks = {});
/// Returns the pieces of a parameter whose gradient sums `replica` has at the end of a step,
/// whether it updates them or not. Without sharing, replica 0 stands for all.
[[nodiscard]] std::vector<ParameterPiece> pieces_of(const ParameterEntry& parameter,
                                                    const ParameterLayout& layout, int replica);

/// Changes the layout to that of another replica that shares.
void lay_out_for(int replica, ParameterLayout& layout);

/// Returns the bytes of the scales of a slot of `slot` bytes. Only slots in codes have scales.
std::size_t scale_bytes(std::size_t slot, const ParameterKinds& kinds);

/// Returns the bytes of moving averages of the weights. They have the type of the masters, and the
/// same offsets, in elements, as a slot of `slot` bytes.
std::size_t average_bytes(std::size_t slot, const ParameterKinds& kinds);

/// Returns true if layers that compute in `compute` read a rounded copy of the parameter.
inline bool has_copy(const layers::ParamDecl& parameter, layers::DType compute) {
  return layers::is_half(compute) && !parameter.full_precision;
}

/// Returns true if that copy is the parameter's only value, since no update needs a master.
inline bool is_copy_alone(const layers::ParamDecl& parameter, layers::DType compute) {
  return !parameter.updated() && has_copy(parameter, compute);
}

}  // namespace penstock::partition
