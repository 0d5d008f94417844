#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// The checkpoint from which a run goes on: the newest whole one of trainer.output, the same on
/// all ranks. Broken ones behind it are reported; nothing is changed. Nothing if trainer.resume is
/// off or there is none yet. CheckpointError on rank 0 if trainer.resume is off and the folder
/// holds checkpoints, or if none of them is whole.
[[nodiscard]] std::optional<Checkpoint> find_start(
    const configs::Config& config, comm::Communicator& world,
    const std::function<void(const std::string&)>& note);

/// What of the run that a recipe goes on with, if trainer.resume says so and there is a checkpoint,
/// a plan made outside of that run must keep; broken checkpoints are passed over.
[[nodiscard]] std::optional<TrainingState> state_to_resume(const configs::Config& config);

/// The recipe with which the run that `config` goes on with made the checkpoint. ConfigError if
/// its model is of another family.
[[nodiscard]] configs::Config saved_recipe(const configs::Config& config,
                                           const TrainingState& saved);

/// Lanes of a run: what the recipe asks for, else the checkpoint's, else one for each replica, and
/// never less than that. Other lanes than the checkpoint's are other sums, so `note` is told.
[[nodiscard]] int choose_lanes(const configs::Config& config, const TrainingState* saved,
                               const std::function<void(const std::string&)>& note);

/// In which order a run's steps are: the recipe's, else the checkpoint's; see trainer.order. An
/// order of another number of micro-batches is none. ConfigError if recipe and checkpoint say one
/// each and they differ, unless trainer.accept names the key: a run keeps its order.
[[nodiscard]] std::vector<int> choose_order(const configs::Config& config,
                                            const TrainingState* saved);

/// Tells `note` if gradients were added in another order up to the checkpoint.
void note_reduction(const configs::Config& config, const TrainingState& saved,
                    const std::function<void(const std::string&)>& note);

/// Tells `note` if a rank has other threads than at the checkpoint, which makes other sums too.
void note_threads(const configs::Config& config, const TrainingState& saved,
                  const std::function<void(const std::string&)>& note);

}  // namespace penstock::runtime
