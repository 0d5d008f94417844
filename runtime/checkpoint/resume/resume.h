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

/// Returns the checkpoint from which a run resumes: the newest intact one of trainer.output, the
/// same on all ranks. Newer broken ones are logged to `note` and not changed. Returns nothing if
/// trainer.resume is off or there is no checkpoint yet. Rank 0 throws CheckpointError if
/// trainer.resume is off and the folder holds checkpoints, or if none of them is intact.
[[nodiscard]] std::optional<Checkpoint> find_start(
    const configs::Config& config, comm::Communicator& world,
    const std::function<void(const std::string&)>& note);

/// Returns the state of the run that a recipe resumes, for a plan that is made outside of that run
/// and must keep it. Returns nothing if trainer.resume is off or there is no checkpoint. Broken
/// checkpoints are skipped.
[[nodiscard]] std::optional<TrainingState> state_to_resume(const configs::Config& config);

/// Returns the recipe with which the checkpoint was written. ConfigError if its model is of another
/// family than `config`'s.
[[nodiscard]] configs::Config saved_recipe(const configs::Config& config,
                                           const TrainingState& saved);

/// Returns the number of lanes of a run: the recipe's or, if that has none, the checkpoint's but at
/// least one per replica. Another number than the checkpoint's changes the order of sums, which
/// `note` logs.
[[nodiscard]] int choose_lanes(const configs::Config& config, const TrainingState* saved,
                               const std::function<void(const std::string&)>& note);

/// Returns the order of a step's micro-batches: the recipe's, else the checkpoint's; see
/// trainer.order. The checkpoint's order is dropped if the number of micro-batches has changed.
/// ConfigError if the recipe's order differs from the checkpoint's, unless trainer.accept names the
/// key.
[[nodiscard]] std::vector<int> choose_order(const configs::Config& config,
                                            const TrainingState* saved);

/// Logs to `note` if gradients were added in another order until the checkpoint.
void note_reduction(const configs::Config& config, const TrainingState& saved,
                    const std::function<void(const std::string&)>& note);

/// Logs to `note` if ranks have another number of threads than at the checkpoint, which also
/// changes sums.
void note_threads(const configs::Config& config, const TrainingState& saved,
                  const std::function<void(const std::string&)>& note);

}  // namespace penstock::runtime
