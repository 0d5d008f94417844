#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "comm/communicator.h"
#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/kept_rows.h"

namespace penstock::runtime {

/// The weights that a new run takes from the checkpoint that trainer.init names.
struct InitialWeights {
  Checkpoint checkpoint;
  /// Parameters that get initial values: those of a head that is reinitialised, and those of
  /// adapters (LoRA) and of masked frames if the checkpoint has none.
  std::set<std::string> anew = {};
  KeptRows kept = {};       // rows of a head of which only some are the checkpoint's
  bool same_labels = true;  // true if [text] defines the checkpoint's labels
};

/// Opens the checkpoint of trainer.init. Returns nothing if trainer.init is empty. The head is the
/// last layer with parameters. By default it is taken from the checkpoint if [text] defines the
/// same labels, and is reinitialised otherwise, in whole or in part (trainer.init_head). All ranks
/// call it and verify the weights together; rank 0 logs to `note` which weights are taken. Rank 0
/// throws CheckpointError if the checkpoint is damaged or its tensors are not the model's. It may
/// lack all adapters, but not some, and the vector of masked frames. The error names each tensor
/// that is missing, unknown or of another shape. Rank 0 throws ConfigError if a head that is
/// reinitialised is frozen, and if the head can't be kept by rows though that is asked.
[[nodiscard]] std::optional<InitialWeights> find_initial_weights(
    const configs::Config& config, const Tokenizer& tokenizer,
    const partition::LayerSequence& sequence, comm::Communicator& world,
    const std::function<void(const std::string&)>& note);

}  // namespace penstock::runtime
