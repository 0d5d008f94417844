#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "partition/layout/layer_sequence.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/output_lock.h"
#include "runtime/corpus/corpus.h"
#include "runtime/optim/optimizer.h"
#include "runtime/store/store_url.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/initial_weights.h"
#include "runtime/trainer/run_log.h"

namespace penstock::runtime {

/// A training that all ranks have agreed to begin. They have the same recipe, devices, a locked
/// output folder, the checkpoint to start from, and the data. No files but caches are written yet.
struct PreparedTraining {
  RunContext context;
  /// The recipe as this process runs it, with the plan file, lanes and a resumed run's order. It is
  /// for one rank if the process works alone.
  configs::Config config;
  configs::PipelineConfig pipeline;  // config.pipeline for the recipe's own number of ranks
  std::unique_ptr<const Tokenizer> tokenizer;
  partition::LayerSequence sequence;
  OptimizerSlots slots = {};
  std::filesystem::path output = {};      // the folder in which the run writes
  std::optional<StoreUrl> remote = {};    // where its checkpoints are uploaded to, if anywhere
  std::unique_ptr<OutputLock> lock = {};  // rank 0 only
  std::optional<Checkpoint> start = {};   // checkpoint to resume from; empty for a new run
  std::vector<Correction> changes =
      {};  // allowed by trainer.accept; a restored run adds earlier ones
  DataOrigin data_origin = {};
  std::optional<InitialWeights> init = {};  // for a new run; empty: random weights
  Corpus corpus = {}, validation = {};      // validation is empty if the recipe names none
};

/// Prepares a training. All ranks call it together. Throws ConfigError, DeviceError, DataError and
/// CheckpointError for everything that can be checked before planning.
[[nodiscard]] PreparedTraining prepare_training(const TrainingTask& task, comm::Communicator& world,
                                                const TrainingObserver& observer);

}  // namespace penstock::runtime
