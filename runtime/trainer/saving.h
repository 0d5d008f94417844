#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/checkpoint.h"
#include "runtime/pipeline/grid.h"
#include "runtime/pipeline/stage.h"

namespace penstock {

/// Moves a stage's numbers between its arenas and checkpoints, straight or through a HostWindow: a
/// rank that has room for its plan has room to save. All ranks call save() together.
class Saving {
 public:
  struct Options {
    std::filesystem::path output;
    std::vector<std::string> slots;  // names of the optimizer's slots
  };
  Saving(Backend& backend, Stream& stream, const Grid& grid, Stage& stage, Options options);

  /// Every stage's first replica writes its layers; rank 0 commits. CheckpointError on rank 0 if
  /// any fails, and the others wait for the end; earlier checkpoints are as they were. Returns the
  /// checkpoint's folder.
  std::filesystem::path save(const TrainingState& state);

  /// Parameters and state of this stage's layers, and the optimizer's slots if `training`.
  /// CheckpointError if a tensor is missing or has another shape.
  void restore(const Checkpoint& checkpoint, bool training);

 private:
  std::string write_own_shard(const std::filesystem::path& folder);

  Backend& backend_;
  Stream& stream_;
  const Grid& grid_;
  Stage& stage_;
  Options options_;
};

/// Free space that a checkpoint of a model with so many parameters may need, in bytes.
std::uint64_t checkpoint_bytes(std::int64_t parameters, std::size_t slots);

}  // namespace penstock
