#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/profiling/layer_kinds.h"

namespace penstock::runtime {

/// A benchmark of whole training steps on noise. Each replica has as many stages as the job has
/// ranks for it, and a rank holds only its stage. A timed step is complete: forward, loss,
/// backward, clipping and AdamW. The cut follows from the cost of each kind of layer, which rank 0
/// measures first.
struct BenchOptions {
  configs::ModelConfig model;
  configs::FeatureConfig features;  // determine the frames per second of audio
  int utterances = 8;               // per micro-batch
  double seconds = 4;           // longest utterance; lengths are spread evenly over [0.5, 1] of it
  int micro_batches = 1;        // per step, dealt to the replicas
  int replicas = 1;             // replicas of each stage
  std::string device = "auto";  // as trainer.device
  int threads = 1;              // per rank, on the CPU
  int warm_up = 3, steps = 7;
  std::string schedule = "1f1b";
  configs::PrecisionConfig precision;
  std::vector<int> cut;  // first layer of each later chunk; empty: chosen by measured layer costs
  std::string like;      // device file that predicts the step; empty: cpu-avx2, or h100 on CUDA
};

struct BenchReport {
  double audio_s_per_s = 0;  // throughput of the median step
  double flops_per_s = 0;    // counted operations of the model per second of the median step
  double step_s = 0, fastest_step_s = 0, slowest_step_s = 0;
  std::int64_t parameters = 0;
  std::string device;  // description of rank 0's device
  std::string how;     // how devices and links were chosen; empty if there was no choice
  int stages = 1, replicas = 1, micro_batches = 1, utterances = 0, threads = 1;
  int measured_layers = 0;            // layers that were measured, each kind once
  double bound = 1;                   // speed-up over one rank that the cut and the bubble allow
  std::vector<int> first_layers;      // first layer of each chunk of the schedule
  std::vector<double> stage_seconds;  // measured, forward and backward of one micro-batch
  std::vector<LayerKindTimes> kinds;  // for one micro-batch
  /// Seconds of a step by the rates of `predicted_by`, computed as for plans, but without messages
  /// and reductions over replicas.
  double predicted_s = 0;
  std::string predicted_by;
  double loss = 0;  // loss of the first step
};

/// Runs the benchmark. All ranks call it together, and all get the complete report. Throws
/// ConfigError like read_device(), and if `cut` does not rise or leaves a chunk without layers.
/// Throws it too if the replicas do not divide the ranks, or if one has no micro-batch.
BenchReport bench(const BenchOptions& options, comm::Communicator& world);

}  // namespace penstock::runtime
