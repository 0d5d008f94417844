#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "comm/communicator.h"
#include "configs/config.h"
#include "partition/model/layer_sequence.h"
#include "runtime/checkpoint/checkpoint.h"

namespace penstock::runtime {

/// What a new run takes from the checkpoint that trainer.init names.
struct InitialWeights {
  Checkpoint checkpoint;
  std::set<std::string> anew;  // parameters of the head, where it starts anew; else none
  bool same_labels = true;     // [text] gives the labels that the checkpoint has
};

/// Nothing if trainer.init is empty. The head is the last layer with parameters. By default it is
/// taken where [text] gives the labels that the checkpoint has, and starts anew where it gives
/// others. All ranks call it; together they verify the weights, and
/// rank 0 tells `note` what is taken. CheckpointError on rank 0 if the checkpoint is damaged, or
/// its tensors are not the model's: it names each that is missing, of another shape or unknown.
/// ConfigError there if a head that starts anew is frozen.
[[nodiscard]] std::optional<InitialWeights> find_initial_weights(
    const configs::Config& config, const partition::LayerSequence& sequence,
    comm::Communicator& world, const std::function<void(const std::string&)>& note);

}  // namespace penstock::runtime
