#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// True if trainer.accept names the key, or trainer.scaling allows it to change.
[[nodiscard]] bool accepts(const configs::Config& config, std::string_view key);

/// True if a key that divides a step into micro-batches is accepted.
[[nodiscard]] bool accepts_division(const configs::Config& config);

/// Returns the line of a recipe that accepts these keys in addition to those that it accepts
/// already: `trainer.accept = ["optimizer.clip_norm"]`.
[[nodiscard]] std::string accepting_line(const configs::Config& config,
                                         const std::vector<std::string>& keys);

/// Keeps the checkpoint's division of a step of data.batch_seconds, and logs it to `note`, if the
/// recipe leaves the division to penstock. More or fewer replicas then do not change it. Does
/// nothing if trainer.accept names the micro-batches, if the step's duration has changed, or if the
/// checkpoint has fewer micro-batches than there are lanes now.
void keep_division(configs::Config& config, const TrainingState& saved,
                   const std::function<void(const std::string&)>& note);

/// Returns the keys that the recipe changes compared with `saved`, all of which trainer.accept
/// names. Throws ConfigError if other keys differ. It lists the keys that trainer.accept does not
/// name, with the line that would accept them. It also lists the keys that cannot change on
/// resuming, with the reason: model, labels, kind and state of the optimizer.
[[nodiscard]] std::vector<Correction> accepted_changes(const configs::Config& config,
                                                       const TrainingState& saved);

/// Returns the change of the training data, if there is one: other utterances, by the hash of the
/// index, or other weights of several manifests. Throws ConfigError unless trainer.accept names
/// data.train. It is not required if only the utterances differ, and `changes` contains a key that
/// explains it.
[[nodiscard]] std::vector<Correction> corpus_changes(const configs::Config& config,
                                                     const TrainingState& saved,
                                                     const std::string& hash,
                                                     const std::vector<Correction>& changes);

/// Returns the changes of augment.noise and augment.rooms, by the hashes of their recordings.
/// Throws ConfigError unless trainer.accept names them.
[[nodiscard]] std::vector<Correction> sound_changes(
    const configs::Config& config, const TrainingState& saved,
    const std::map<std::string, std::string>& hashes);

/// Returns where the order of the data begins. That is the checkpoint's origin or, if the changes
/// lead to other micro-batches, the next epoch. An epoch of which no step is done counts as the
/// next one. If only data.micro_batches changes, it is the checkpoint's place within its epoch.
[[nodiscard]] DataOrigin data_origin(const TrainingState& saved,
                                     const std::vector<Correction>& changes);

/// Combines the two: adds corpus_changes() to `changes` and returns the data_origin() of all. The
/// utterances must be known.
[[nodiscard]] DataOrigin settle_data(const configs::Config& config, const TrainingState& saved,
                                     std::uint64_t hash, std::vector<Correction>& changes);

/// Describes a change for the log, and names the key that allows it: "from step 600 on,
/// optimizer.clip_norm = 10, which was 400 (trainer.accept)".
[[nodiscard]] std::string describe(const Correction& change, const configs::Config& config);

}  // namespace penstock::runtime
