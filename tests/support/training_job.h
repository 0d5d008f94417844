#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "configs/config.h"
#include "partition/build_chain.h"
#include "runtime/pipeline/step_work.h"

namespace penstock::test {

/// A short training of a small model on noise, over stages × replicas that are threads.
struct TrainingJob {
  ModelConfig model;
  int labels = 7;
  int stages = 1, replicas = 1, lanes = 1;
  std::string schedule = "1f1b";
  OptimizerConfig optimizer;
  int steps = 20;
  int poisoned_step = -1;  // its features are NaN
  std::int64_t bucket_bytes = 1 << 12;
};

/// Everything that equal runs must have in common, bit for bit.
struct TrainingOutcome {
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<float>> tensors;  // parameters, optimizer slots, state
  bool operator==(const TrainingOutcome&) const = default;
};

/// A step's work with ragged utterances, micro-batches of different sizes, dealt to lanes in turn.
StepWork ragged_work(int step, int lanes, int labels);

/// What the replica that owns lanes [first, first + count) has to do of `work`.
StepWork share_of(const StepWork& work, int first, int count);

TrainingOutcome train_on_noise(const TrainingJob& job);

}  // namespace penstock::test
