#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "configs/config.h"
#include "runtime/profiling/layer_kind_times.h"

namespace penstock::runtime {

/// Whole training steps on noise, over as many stages as the job has ranks for each replica. A rank
/// holds its stage alone. Steps are timed as a user sees them: forward, loss, backward, clipping
/// and AdamW. The cut follows from each kind of layer, measured once by rank 0 beforehand.
struct BenchOptions {
  configs::ModelConfig model;
  configs::FeatureConfig features;  // which say how many frames a second of audio has
  int utterances = 8;               // of each micro-batch
  double seconds = 4;               // longest utterance; lengths spread evenly over [0.5, 1] of it
  int micro_batches = 1;            // of a step, dealt to the replicas
  int replicas = 1;                 // of each stage
  std::string device = "auto";      // as trainer.device
  int threads = 1;                  // of a rank on the CPU
  int warm_up = 3, steps = 7;
  std::string schedule = "1f1b";
  configs::PrecisionConfig precision;
  std::vector<int> cut;  // first layer of each later stage; empty: from measured layer times
  std::string like;      // a device file that predicts the step; empty: cpu-avx2, or h100 on CUDA
};

struct BenchReport {
  double audio_s_per_s = 0;  // of the median step
  double flops_per_s = 0;    // counted operations of the model over the median step
  double step_s = 0, fastest_step_s = 0, slowest_step_s = 0;
  std::int64_t parameters = 0;
  std::string device;  // description of rank 0's
  std::string how;     // devices and links were chosen; empty where nothing was
  int stages = 1, replicas = 1, micro_batches = 1, utterances = 0, threads = 1;
  int measured_layers = 0;            // each kind of layer once, of which the cut follows
  double bound = 1;                   // speed-up over one rank that the cut and the bubble allow
  std::vector<int> first_layers;      // of each chunk of the schedule
  std::vector<double> stage_seconds;  // measured, one micro-batch forward and backward
  std::vector<LayerKindTimes> kinds;  // of one micro-batch
  double predicted_s = 0;  // a step by the rates of `predicted_by`, as plans compute it, but for
                           // messages and sums of replicas
  std::string predicted_by;
  double loss = 0;  // of the first step
};

/// All ranks call it; the report is whole on all. ConfigError as from read_device, if `cut` does
/// not rise or leaves a stage without layers, or if the replicas do not divide the ranks or have no
/// micro-batch each.
BenchReport bench(const BenchOptions& options, comm::Communicator& world);

}  // namespace penstock::runtime
