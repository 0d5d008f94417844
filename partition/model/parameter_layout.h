#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "layers/tensor/code_blocks.h"
#include "layers/tensor/norm_blocks.h"
#include "partition/model/shards.h"

namespace penstock::partition {

/// One parameter's place in the arenas of its stage.
struct ParameterEntry {
  layers::ParamDecl decl;
  std::size_t layer = 0;   // within the stage
  std::size_t offset = 0;  // in bytes, the same in every arena that holds the whole stage
  bool summed = true;      // whether it has gradient sums: a parameter of its layer is trained
  std::int64_t elements = 0;
  std::int64_t first_block = 0;  // of the model's norm blocks
  std::size_t copy_offset = 0;   // in bytes, of what layers read instead of a master, if any
  std::size_t whole_offset = 0;  // in bytes, among the masters: frozen ones, of which copies exist
  std::int64_t index = 0;        // among the stage's parameters
};

/// Elements [first, first + count) of a parameter: whole norm blocks of it, which a rank updates.
struct ParameterPiece {
  std::size_t parameter = 0;  // its index among the stage's
  std::int64_t first = 0, count = 0;
  std::int64_t first_block = 0;   // of the model's norm blocks
  std::size_t slot_offset = 0;    // in bytes, in each slot of the optimizer
  std::size_t master_offset = 0;  // in bytes, among the masters, or among the copies if they are it

  std::int64_t blocks() const { return layers::norm_blocks(count); }
};

/// How a slot of the optimizer keeps its numbers.
enum class SlotFormat {
  full,   // as masters are kept
  bf16,   // in halves
  codes,  // in 8 bits, over an FP32 scale for each code block of a parameter
};

/// Types of a stage's numbers, and who keeps them.
struct ParameterKinds {
  layers::DType dtype = layers::DType::f32;  // of masters, gradient sums and full slots
  layers::DType compute =
      layers::DType::f32;  // of what layers read: halves are rounded copies of the masters
  Sharing sharing = {};
  SlotFormat slots = SlotFormat::full;

  /// Of a slot's numbers.
  layers::DType slot_type() const;
};

/// Where a rank keeps a stage's parameters. The runtime allocates it, the planner adds it up.
struct ParameterLayout {
  ParameterKinds kinds;
  std::vector<ParameterEntry> parameters;
  std::vector<std::size_t> summed;    // of their indices: those with gradient sums
  std::vector<ParameterPiece> owned;  // of what is trained, in the order of the parameters
  std::size_t arena = 0;              // bytes of what is whole on every rank: gradient sums
  std::size_t masters = 0;
  std::size_t copies = 0;  // of what layers read instead of masters
  std::size_t slot = 0;    // of one slot of the optimizer
  std::size_t scales = 0;  // of a slot that is kept in codes
  /// Masters of owned pieces alone: copies hold all that layers read, also in full precision.
  bool parts = false;
  /// Of masters and copies, from their beginning: what lies behind never changes.
  std::size_t changing_masters = 0, changing_copies = 0;
  Shards shards;  // where replicas do not share, the first owns all

  /// The bytes [first, second) of each bucket that a replica owns of the arena that layers read:
  /// of copies if masters are in parts, else of masters.
  std::vector<std::pair<std::size_t, std::size_t>> read_ranges(int replica) const;

 private:
  std::size_t read_offset(std::int64_t element) const;
};

/// Of `replica`, which matters where they share. `first_blocks[i]` counts the norm blocks of the
/// model's layers before layer i, since a stage's layers need not follow each other; empty: they
/// are the model's first. In FP32 layers read the masters, which are therefore whole on every
/// replica even where the optimizer's state is shared. So are those of frozen parameters: they lie
/// behind all others, without gradient sums where their whole layer is frozen.
ParameterLayout lay_out_parameters(std::span<const layers::LayerPlan> layers,
                                   const ParameterKinds& kinds, int replica,
                                   std::span<const std::int64_t> first_blocks = {});
/// Makes the layout that of another of the replicas that share.
void lay_out_for(int replica, ParameterLayout& layout);

/// Bytes of the scales of a slot of so many bytes, of which those in codes alone have some.
std::size_t scale_bytes(std::size_t slot, const ParameterKinds& kinds);

/// True where layers that compute in `compute` read a rounded copy of the parameter.
inline bool has_copy(const layers::ParamDecl& parameter, layers::DType compute) {
  return layers::is_half(compute) && !parameter.full_precision;
}

}  // namespace penstock::partition
