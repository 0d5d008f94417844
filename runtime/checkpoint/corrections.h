#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "runtime/checkpoint/training_state.h"

namespace penstock::runtime {

/// Whether trainer.accept names the key.
[[nodiscard]] bool accepts(const configs::Config& config, std::string_view key);

/// Whether it names any of the keys that divide a step into micro-batches.
[[nodiscard]] bool accepts_division(const configs::Config& config);

/// The line of a recipe that accepts these keys besides those that it accepts already:
/// `trainer.accept = ["optimizer.clip_norm"]`.
[[nodiscard]] std::string accepting_line(const configs::Config& config,
                                         const std::vector<std::string>& keys);

/// Divides the step of data.batch_seconds as up to the checkpoint, which `note` is told, where the
/// recipe leaves it to penstock: more or fewer replicas don't change it. Nothing where
/// trainer.accept names the micro-batches, where the step holds another number of seconds, or where
/// it has fewer micro-batches than lanes now.
void keep_division(configs::Config& config, const TrainingState& saved,
                   const std::function<void(const std::string&)>& note);

/// What the recipe changes of a run that goes on from `saved`; trainer.accept names each of these
/// keys. ConfigError names all that it does not name, with the line that would, and those that no
/// run can change, with the reason: model, labels, kind and state of the optimizer.
[[nodiscard]] std::vector<Correction> accepted_changes(const configs::Config& config,
                                                       const TrainingState& saved);

/// What else has changed, if anything: the utterances, by the hash of the index, or the weights of
/// several manifests. ConfigError where trainer.accept does not name data.train, unless it is the
/// utterances alone and `changes` are of what they follow from.
[[nodiscard]] std::vector<Correction> corpus_changes(const configs::Config& config,
                                                     const TrainingState& saved,
                                                     const std::string& hash,
                                                     const std::vector<Correction>& changes);

/// Where the order of the data begins: the checkpoint's place, or, where changes make other steps,
/// the next epoch. An epoch of which nothing is done counts as the next.
[[nodiscard]] DataOrigin data_origin(const TrainingState& saved,
                                     const std::vector<Correction>& changes);

/// Both of these, once the utterances are known: adds corpus_changes() to `changes` and returns the
/// data_origin() of all.
[[nodiscard]] DataOrigin settle_data(const configs::Config& config, const TrainingState& saved,
                                     std::uint64_t hash, std::vector<Correction>& changes);

/// "from step 600 on, optimizer.clip_norm = 10, which was 400 (trainer.accept)", for the log.
[[nodiscard]] std::string told(const Correction& change);

}  // namespace penstock::runtime
