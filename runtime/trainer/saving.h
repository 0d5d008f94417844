#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/shard.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"

namespace penstock::runtime {

/// Where a run begins that is not to start from random numbers alone.
struct StartingWeights {
  const Checkpoint& checkpoint;
  std::set<std::string> anew = {};  // parameters that it does not take from there
};

/// Moves a stage's numbers between its arenas and checkpoints.
class Saving {
 public:
  Saving(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid, Stage& stage,
         OptimizerSlots slots);

  /// What this rank adds to a checkpoint, where it lies. Every stage's first replica adds its
  /// layers or, where replicas share the update, each what it owns of them; others nothing.
  std::vector<CheckpointPiece> pieces() const;
  /// The name of the shard that holds it, unique among the ranks.
  std::string shard_name() const;

  /// Parameters and state of this stage's layers, and the optimizer's slots if `training`; those of
  /// parameters that match one of `frozen`, of which the checkpoint has none, stay as they are.
  /// CheckpointError if a tensor is missing or has another shape.
  void restore(const Checkpoint& checkpoint, bool training,
               const std::vector<std::string>& frozen = {});

  /// Parameters and state of this stage's layers where another run starts: from its checkpoint, but
  /// for parameters that start anew from (seed, name). Nothing of the optimizer's. CheckpointError
  /// as restore().
  void start_from(const StartingWeights& weights, std::uint64_t seed);

  layers::Backend& backend() const { return backend_; }
  layers::Stream& stream() const { return stream_; }
  const RankGrid& grid() const { return grid_; }

 private:
  std::vector<CheckpointPiece> owned_pieces() const;

  layers::Backend& backend_;
  layers::Stream& stream_;
  const RankGrid& grid_;
  Stage& stage_;
  OptimizerSlots slots_;
};

/// Bytes of so many parameters and the optimizer's numbers of them.
[[nodiscard]] std::uint64_t state_bytes(std::int64_t parameters, std::size_t slots,
                                        partition::SlotFormat format);

/// Free space that a checkpoint of a model with so many parameters may need, in bytes.
[[nodiscard]] std::uint64_t checkpoint_bytes(std::int64_t parameters, std::size_t slots,
                                             partition::SlotFormat format);

}  // namespace penstock::runtime
