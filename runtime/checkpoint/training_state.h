#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::runtime {

/// A key of the recipe that was changed when a run resumed.
struct Correction {
  std::int64_t step = 0;  // step of the checkpoint from which it resumed
  std::string key, before, after;
  bool operator==(const Correction&) const = default;
};

/// A checkpoint that contributed to a mean of several.
struct AveragedCheckpoint {
  std::int64_t step = 0;
  std::string folder;  // as it was named
  bool operator==(const AveragedCheckpoint&) const = default;
};

/// The point at which the current order of the data begins: a step, counted over the whole run, its
/// epoch, and the micro-batches of that epoch that were used before.
struct DataOrigin {
  std::int64_t step = 0, epoch = 0, micro_batch = 0;
  bool operator==(const DataOrigin&) const = default;
};

/// The validations of a run as its early end depends on them. `value` is the lowest so far, up to
/// trainer.early_stopping_threshold.
struct EarlyStoppingRecord {
  std::string metric = {};       // of `value`
  std::string corpus_hash = {};  // hash of the utterances of `value`; empty: none
  double value = 0;              // the value to beat
  std::int64_t step = 0;         // its step; 0 if no validation had a finite value yet
  std::int64_t waited = 0;       // validations since then
  std::int64_t validated = 0;    // step of the last validation; 0 if there was none
  bool operator==(const EarlyStoppingRecord&) const = default;
};

/// The state of a run except its tensors. Random numbers depend on seed and epoch alone.
struct TrainingState {
  std::int64_t step = 0;             // steps done, skipped ones included
  std::int64_t optimizer_steps = 0;  // steps that changed the model
  std::int64_t epoch = 0;            // epoch of the next step, from 0
  std::int64_t step_in_epoch = 0;    // index of the next step in its epoch, from 0
  std::uint64_t seed = 0;
  int lanes = 1;
  std::map<std::string, double> loss_scale = {};  // LossScale::state()
  std::string corpus_hash;                        // hash of the index of the training utterances
  std::map<std::string, std::string> config;      // "model.hidden" → "256", as TOML text
  std::string plan_toml;                          // plan of the run that wrote it
  std::string best_metric;                        // empty if nothing has been validated
  double best_value = 0;
  std::int64_t best_step = 0;
  std::string best_corpus_hash;              // hash of the utterances on which it is the best
  std::string tokenizer_hash;                // XXH3-128 of kTokenizerFile; empty with an alphabet
  std::vector<Correction> corrections = {};  // changes over the whole run, in order
  DataOrigin data_origin = {};
  std::map<std::string, std::string> sound_hashes = {};  // of augment.noise and augment.rooms
  /// It is empty in checkpoints that no training wrote, and in those of penstock 0.2 and earlier.
  std::optional<EarlyStoppingRecord> early_stopping = {};
  /// Set if the weights are the mean of these checkpoints.
  std::vector<AveragedCheckpoint> averaged = {};
  bool operator==(const TrainingState&) const = default;
};

}  // namespace penstock::runtime
