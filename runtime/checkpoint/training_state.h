#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penstock::runtime {

/// A key of the recipe that a run changed where it resumed.
struct Correction {
  std::int64_t step = 0;  // of the checkpoint that it resumed from
  std::string key, before, after;
  bool operator==(const Correction&) const = default;
};

/// The step, counted over the whole run, with which the data began in their present order, and its
/// epoch, which was a new one.
struct DataOrigin {
  std::int64_t step = 0, epoch = 0;
  bool operator==(const DataOrigin&) const = default;
};

/// All of a run's state that is not a tensor. Random numbers need no more than seed and epoch.
struct TrainingState {
  std::int64_t step = 0;             // steps done
  std::int64_t optimizer_steps = 0;  // of them, steps that changed the model
  std::int64_t epoch = 0;            // of the next step, from 0
  std::int64_t step_in_epoch = 0;    // of the next step, from 0
  std::uint64_t seed = 0;
  int lanes = 1;
  std::map<std::string, double> loss_scale = {};  // of LossScale::state()
  std::string corpus_hash;                        // of the index of the training utterances
  std::map<std::string, std::string> config;      // "model.hidden" → "256", as TOML text
  std::string plan_toml;                          // of the run that saved
  std::string best_metric;                        // empty: nothing has been validated
  double best_value = 0;
  std::int64_t best_step = 0;
  std::string best_corpus_hash;  // of the utterances on which it is the best
  std::string tokenizer_hash;    // XXH3-128 of kTokenizerFile; empty: the text is of an alphabet
  std::vector<Correction> corrections = {};  // of the run, in its order
  DataOrigin data_origin = {};
  bool operator==(const TrainingState&) const = default;
};

}  // namespace penstock::runtime
