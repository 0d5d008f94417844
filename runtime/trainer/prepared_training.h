#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "partition/model/layer_sequence.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/output_lock.h"
#include "runtime/corpus/corpus.h"
#include "runtime/optim/optimizer.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/initial_weights.h"
#include "runtime/trainer/run_context.h"

namespace penstock::runtime {

/// A training of which all ranks know that it may begin: same recipe, devices for it, an output
/// folder of its own, what it goes on from, and its data. Nothing is written yet but caches.
struct PreparedTraining {
  RunContext context;
  configs::Config
      config;  // with plan file, lanes and a resumed run's order; of one rank where it is alone
  configs::Config recipe;  // the same for the recipe's ranks
  std::unique_ptr<const Tokenizer> tokenizer;
  partition::LayerSequence sequence;
  OptimizerSlots slots = {};
  std::unique_ptr<OutputLock> lock = {};  // rank 0 only
  std::optional<Checkpoint> start = {};   // that the run goes on from; nothing: a new run
  std::vector<Correction> changes = {};   // of the run there, which trainer.accept allows
  DataOrigin data_origin = {};
  std::optional<InitialWeights> init = {};  // of a new run; nothing: random weights
  Corpus corpus = {}, validation = {};      // validation is empty where the recipe names none
};

/// Prepares a training. All ranks call it together. ConfigError, DeviceError, DataError and
/// CheckpointError for what can be known before a plan.
[[nodiscard]] PreparedTraining prepare_training(const TrainingTask& task, comm::Communicator& world,
                                                const TrainingObserver& observer);

}  // namespace penstock::runtime
