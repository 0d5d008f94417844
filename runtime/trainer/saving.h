#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/shard.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/rank_grid.h"
#include "runtime/pipeline/stage.h"
#include "runtime/trainer/kept_rows.h"

namespace penstock::runtime {

/// The weights with which a new run starts if they are not all random.
struct StartingWeights {
  const Checkpoint& checkpoint;
  std::set<std::string> anew = {};  // parameters that are initialised at random
  KeptRows kept = {};               // rows of further ones; their others are initialised at random
};

/// Copies a stage's parameters and state between its arenas and checkpoints.
class Saving {
 public:
  Saving(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid, Stage& stage,
         OptimizerSlots slots);

  /// Returns the pieces that this rank contributes to a checkpoint, as views into its memory. Every
  /// stage's first replica contributes the stage's layers. If replicas share the update, each
  /// contributes the pieces that it owns. Other ranks contribute nothing.
  std::vector<CheckpointPiece> pieces() const;
  /// Returns the name of the shard that holds these pieces. It is unique among the ranks.
  std::string shard_name() const;

  /// Reads parameters and state of this stage's layers. If `training`, they are those with which
  /// the run goes on, and the optimizer's slots and the moving averages are read too. The
  /// checkpoint has no slots of the parameters in `frozen`; their slots stay unchanged. Moving
  /// averages that it lacks begin with the parameters. Otherwise parameters are those of
  /// model_tensor(). CheckpointError if a tensor is missing or has another shape.
  void restore(const Checkpoint& checkpoint, bool training,
               const std::set<std::string>& frozen = {});

  /// Reads parameters and state of this stage's layers from another run's checkpoint, by their
  /// model_tensor(). Parameters in `weights.anew` are initialised from (seed, name) instead, and
  /// so are rows that `weights.kept` has not. The optimizer's slots stay unchanged. CheckpointError
  /// as from restore().
  void start_from(const StartingWeights& weights, std::uint64_t seed);

  layers::Backend& backend() const { return backend_; }
  layers::Stream& stream() const { return stream_; }
  const RankGrid& grid() const { return grid_; }

 private:
  /// Returns the tensor of a checkpoint that holds a parameter.
  using Source = std::function<std::string(const layers::ParamDecl&)>;

  std::vector<CheckpointPiece> owned_pieces() const;
  void load(const StartingWeights& weights, std::uint64_t seed, const Source& source);

  layers::Backend& backend_;
  layers::Stream& stream_;
  const RankGrid& grid_;
  Stage& stage_;
  OptimizerSlots slots_;
};

/// Parameters of some layers as a checkpoint holds them.
struct SavedParameters {
  std::int64_t trained = 0;        // their number
  std::uint64_t frozen_bytes = 0;  // the bytes of all others, which have no optimizer slots

  void add(const SavedParameters& other);
};

/// Returns the parameters of each layer of a model that computes in `compute`.
[[nodiscard]] std::vector<SavedParameters> saved_parameters(
    const partition::LayerSequence& sequence, layers::DType compute);

/// Returns the bytes of parameters, their optimizer slots and moving averages.
[[nodiscard]] std::uint64_t state_bytes(const SavedParameters& parameters,
                                        const partition::SlotCounts& slots,
                                        partition::SlotFormat format);

/// Returns the disk space, in bytes, that a checkpoint with these parameters may need.
[[nodiscard]] std::uint64_t checkpoint_bytes(const SavedParameters& parameters,
                                             const partition::SlotCounts& slots,
                                             partition::SlotFormat format);

}  // namespace penstock::runtime
