#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/kept_parts.h"
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

/// Moves a stage's numbers between its arenas and checkpoints, straight or through a HostWindow: a
/// rank that has room for its plan has room to save. All ranks call save() together.
class Saving {
 public:
  struct Options {
    std::filesystem::path output;
    OptimizerSlots slots = {};
    std::string tokenizer = {};  // bytes of text.model, of which every checkpoint keeps a copy
    KeptParts kept = {};         // of an imported model; on rank 0
  };
  Saving(layers::Backend& backend, layers::Stream& stream, const RankGrid& grid, Stage& stage,
         Options options);

  /// Every stage's first replica writes its layers or, where replicas share the update, each what
  /// it owns of them; rank 0 commits. CheckpointError on rank 0 if any fails, and the others wait
  /// for the end; earlier checkpoints are as they were. Returns the checkpoint's folder.
  std::filesystem::path save(const TrainingState& state);

  /// Parameters and state of this stage's layers, and the optimizer's slots if `training`; those of
  /// parameters that match one of `frozen`, of which the checkpoint has none, stay as they are.
  /// CheckpointError if a tensor is missing or has another shape.
  void restore(const Checkpoint& checkpoint, bool training,
               const std::vector<std::string>& frozen = {});

  /// Parameters and state of this stage's layers where another run starts: from its checkpoint, but
  /// for parameters that start anew from (seed, name). Nothing of the optimizer's. CheckpointError
  /// as restore().
  void start_from(const StartingWeights& weights, std::uint64_t seed);

 private:
  std::string write_own_shard(const std::filesystem::path& folder);
  std::vector<CheckpointPiece> owned_pieces() const;

  layers::Backend& backend_;
  layers::Stream& stream_;
  const RankGrid& grid_;
  Stage& stage_;
  Options options_;
};

/// Free space that a checkpoint of a model with so many parameters may need, in bytes.
[[nodiscard]] std::uint64_t checkpoint_bytes(std::int64_t parameters, std::size_t slots,
                                             partition::SlotFormat format);

}  // namespace penstock::runtime
