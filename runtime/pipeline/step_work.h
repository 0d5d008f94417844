#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace penstock::runtime {

/// One micro-batch of a replica's step. Every rank of the pipeline knows its shape. Only the stage
/// that needs labels has them.
struct MicroBatchWork {
  int lane = 0;                           // lane of this replica, from 0
  int place = 0;                          // index in the step's canonical order, over all replicas
  std::vector<std::int64_t> lengths;      // feature frames of each utterance
  std::vector<std::uint64_t> utterances;  // ids, which are keys of the random numbers
  std::vector<std::int32_t> labels;       // concatenated over the utterances
  std::vector<std::int32_t> label_lengths;
  std::vector<std::int32_t> prompts;  // Targets::prompts
};

/// The work of a replica in one step, in canonical order.
struct StepWork {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  double scale = 1;              // scale of gradients: 1 / utterances of the global batch
  double loss_scale = 1;         // further scale of gradients: see LossScale
  int global_micro_batches = 0;  // micro-batches of the step, over all replicas
  std::vector<MicroBatchWork> micro_batches;
};

/// Writes the features (frames × bins) and the loss weight of each utterance of a micro-batch.
/// `micro_batch` is an index into StepWork::micro_batches. Called on the first stage only.
using ReadFeatures =
    std::function<void(int micro_batch, std::span<float> x_FC, std::span<float> weights)>;

}  // namespace penstock::runtime
