#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "partition/layout/build_model.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/step_work.h"
#include "runtime/trainer/report.h"

namespace penstock::test {

/// A short training of a small model on noise, over stages × replicas.
struct TrainingJob {
  layers::DeviceKind device = layers::DeviceKind::cpu;
  runtime::DeviceLinks links =
      runtime::DeviceLinks::host;  // nccl: each rank has a device of its own
  runtime::ReductionOrder reduction = runtime::ReductionOrder::lanes;
  configs::ModelConfig model;
  int labels = 7;
  int stages = 1, replicas = 1, lanes = 1;
  std::string schedule = "1f1b";  // "found": lists that a search finds for `order`
  std::vector<int> order = {};    // as trainer.order
  std::vector<int> cut = {};      // first layer of each chunk but the first; empty: even chunks
  configs::OptimizerConfig optimizer;
  configs::PrecisionConfig precision;
  int steps = 20;
  int shrink = 1;                                                 // as in ragged_work
  std::vector<std::vector<std::int64_t>> lengths = {};            // the same, in place of its own
  int poisoned_step = -1;                                         // its features are NaN
  int unreadable_step = -1;                                       // its features raise Error
  std::function<void(const runtime::StepReport&)> reported = {};  // by any rank
  std::function<runtime::Notices(int rank)> notices = {};         // what each rank tells
  int poisoned_layer = -1;  // whose gradients overflow in its call number `poisoned_call`
  int poisoned_call = 0;
  int failing_rank = -1;  // raises std::runtime_error in the second step
  std::int64_t bucket_bytes = 1 << 12;
  bool post_validation = false;
  double ema = 0;                           // as trainer.ema
  bool shard = false;                       // replicas share the update
  bool recompute = false;                   // all layers
  std::vector<int> recomputed_layers = {};  // or these
  bool selective = false;                   // within residual units
  int resident = 0;                         // as pipeline.resident
};

/// A DeepSpeech2 of two small recurrent layers with dropout.
TrainingJob small_job();

/// Everything that equal runs must have in common, bit for bit, and how they came to it.
struct TrainingOutcome {
  std::vector<double> losses, norms, scales;
  std::int64_t optimistic = 0, rolled_back = 0;  // updates, by post-validation
  /// Parameters, optimizer slots, moving averages ("NAME#average"), state. A tied parameter is
  /// what its layer reads.
  std::map<std::string, std::vector<float>> tensors;
  bool operator==(const TrainingOutcome&) const = default;
};

/// Fails the test, with `what` in its message, unless the two are equal bit for bit.
void expect_equal(const TrainingOutcome& a, const TrainingOutcome& b, const std::string& what);

/// Expects that the job on several stages and replicas, with a whole and a shared update, has the
/// outcome of one rank.
void expect_equal_layouts(TrainingJob job);

/// A step's work with ragged utterances, micro-batches of different sizes, dealt to lanes in turn.
/// Lengths, 23 to 75 frames where none are given, are divided by `shrink`.
runtime::StepWork ragged_work(int step, int lanes, int labels, int shrink = 1,
                              const std::vector<std::vector<std::int64_t>>& lengths = {});

/// The same with micro-batches in `order`, as trainer.order; their lanes stay theirs.
runtime::StepWork in_order(const runtime::StepWork& work, const std::vector<int>& order);

/// Returns the part of `work` that the replica with lanes [first, first + count) has to do.
runtime::StepWork share_of(const runtime::StepWork& work, int first, int count);

/// A clip_norm that clips a step of the job after two steps that it does not clip, so that what
/// was updated optimistically is rolled back.
double clip_behind_plain_steps(TrainingJob job);

/// Trains as one rank of `world`, whose ranks are the job's. The tensors are those of its stage, of
/// the first replica or, where they share the update, what it owns, NaN elsewhere.
TrainingOutcome train_rank(const TrainingJob& job, comm::Communicator& world);

/// Trains with ranks that are threads; the tensors are the whole model's.
TrainingOutcome train_on_noise(const TrainingJob& job);

}  // namespace penstock::test
