#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/weighted_manifest.h"
#include "layers/models/model_family.h"

namespace penstock::configs {

/// [model]: what is trained. `base` names a file of configs/models/, whose keys the others
/// override.
struct ModelConfig {
  std::string base = {};
  int features = 161;          // input channels; must equal what [features] makes
  int classes = 0;             // of the output layer; 0: as many as the text has labels
  layers::ModelFamily family;  // what model.kind chooses, with the values of the family's own keys
  bool operator==(const ModelConfig&) const = default;
};

/// [text]: labels. Blank is 0, the alphabet's characters or the model's pieces follow in order.
struct TextConfig {
  std::string kind = "alphabet";  // alphabet | sentencepiece
  std::string alphabet = "'abcdefghijklmnopqrstuvwxyz ";
  std::string model;               // of sentencepiece: a .model file
  std::string normalise = "none";  // none | nfc | nfkc, applied to transcripts
  std::string fold = "lower";      // lower | upper | unicode-lower | unicode-upper | none, after it
  std::string remove = {};         // characters that transcripts lose, after both
  bool operator==(const TextConfig&) const = default;
};

/// [features]: what a frame is.
struct FeatureConfig {
  // spectrogram (log1p of magnitude) | log-mel | fbank (as Kaldi makes it) | waveform
  std::string kind = "spectrogram";
  int sample_rate = 16000;
  double window_ms = 20, hop_ms = 10;
  std::string window = "hamming";       // hamming | hann | hann-symmetric | povey
  int fft = 0;                          // 0: the window's samples; of fbank the next power of two
  int mels = 80;                        // of log-mel and fbank
  double preemphasis = 0;               // share of the sample before that is taken away
  std::string normalise = "utterance";  // utterance | channel: what has one mean and deviation
  bool last_frame = true;               // the one at the end, of which half lies beyond
  double epsilon = 1e-7;                // of waveform and fbank: added to the variance
  int stack = 1;                        // adjacent frames that become one
  bool operator==(const FeatureConfig&) const = default;
  double frames_per_second() const {
    return kind == "waveform" ? sample_rate : 1000 / hop_ms / stack;
  }
};

/// Speeds at which speech is still speech.
inline constexpr double kSlowestSpeed = 0.5, kFastestSpeed = 2;

/// [data]: utterances and how they are grouped.
struct DataConfig {
  std::vector<WeightedManifest> train = {};  // several are mixed
  double temperature = 1;                    // of mixing: above 1, shares are more alike
  std::string validation = {};               // manifest
  std::string bad_utterances = "refuse";     // refuse | skip
  double min_seconds = 0, max_seconds = 0;   // 0: no bound; others are left out and counted
  double micro_batch_seconds = 32;           // of audio, at most, in a micro-batch
  int micro_batch_utterances = 0;            // at most; 0: no bound
  int micro_batches = 4;                     // in a step, over all lanes
  double batch_seconds = 0;                  // of both together; 0: they say it
  std::vector<double> speeds = {1};          // one is sampled for each utterance and epoch
  double failing_utterances = 0.01;          // of an epoch that may fail after the start
  int loaders = 0;                           // threads that read audio; 0: spare cores
  std::string cache = {};                    // folder for indexes of manifests; empty: the user's
  double cache_gib = 8;                      // that they may take there; 0: none is kept
  bool operator==(const DataConfig&) const = default;
};

/// [optimizer]
struct OptimizerConfig {
  std::string kind = "adamw";  // adamw | sgd | lamb | novograd
  double learning_rate = 3e-4;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0.9;
  bool nesterov = true;
  double larc = 0;  // sgd's trust coefficient; 0: no LARC
  double weight_decay = 1e-5;
  double clip_norm = 400;                        // of the whole gradient; 0: no clipping
  std::vector<std::string> freeze = {};          // patterns of parameters that stay as they are
  std::vector<std::string> learning_rates = {};  // "pattern: factor"; the first that matches holds
  std::string state = "fp32";                    // fp32 | bf16 | 8bit
  bool operator==(const OptimizerConfig&) const = default;
};

/// [lr_schedule] of the learning rate, in steps.
struct LrScheduleConfig {
  std::string kind = "constant";  // constant | exponential | cosine | polynomial
  std::int64_t warmup = 0;        // linear from 0
  std::int64_t total_steps = 0;   // where cosine and polynomial end; their required key
  double min_lr = 0;              // learning rate at total_steps and after
  double power = 1;               // of polynomial
  double decay = 0.99;            // of exponential: share left after `decay_steps`
  std::int64_t decay_steps = 1000;
  bool operator==(const LrScheduleConfig&) const = default;
};

/// [precision]: what layers compute in, over FP32 masters, gradient sums and optimizer state.
struct PrecisionConfig {
  std::string compute = "fp32";          // fp32 | tf32 | fp16 | bf16
  std::string loss_scaling = "backoff";  // of fp16: static | backoff | logmax
  double scale = 1024;                   // of static
  bool operator==(const PrecisionConfig&) const = default;
};

/// [pipeline]
struct PipelineConfig {
  std::string plan;  // a plan file; empty: made at the start
  int stages = 1, replicas = 1;
  std::string schedule = "1f1b";   // a name of docs/design/schedules.md, or a path *.csv of lists
  std::string recompute = "none";  // none | selective | stage | layers
  std::vector<std::string> recompute_layers;
  int resident = 0;  // of a chunk: micro-batches whose activations stay on the device; 0: all
  std::int64_t bucket_bytes = 0;    // of the reduction over replicas; 0: by these and their links
  bool shard_optimizer = false;     // over replicas, and halves' masters with it
  bool post_validation = false;     // updates before all ranks know the gradient's norm
  std::string reduction = "lanes";  // lanes | nccl
  double memory_gib = 0;            // limit for a rank; 0: none
  bool operator==(const PipelineConfig&) const = default;
};

/// [trainer]
struct TrainerConfig {
  std::int64_t steps = 1000;  // only says where to stop
  std::uint64_t seed = 1;
  int lanes = 0;  // 0: the checkpoint's, or as many as replicas
  /// For each place of a step, which of its micro-batches it has: 0 is the longest. Empty: the
  /// checkpoint's, or of a new run as sampled, or as found.
  std::vector<int> order;
  std::string output = "outputs/run";
  bool resume = false;
  std::vector<std::string> accept = {};  // keys that a run which resumes may change
  std::string init = {};                 // checkpoint from which a new run takes its weights
  std::string init_head = "auto";        // auto | keep | new
  int threads = 1;                       // of a rank
  std::string device = "auto";           // auto | cpu | cuda
  std::int64_t validate_every = 0;       // steps; 0: every epoch; -1: never
  std::int64_t validate_utterances = 0;  // of data.validation, a sample; 0: all
  std::int64_t checkpoint_every = 0;     // steps; 0: every epoch
  double checkpoint_seconds = 1800;      // 0: by steps alone
  int keep = 3;                          // newest checkpoints that stay, besides the best
  int max_skipped = 20;                  // steps in a row; more are divergence
  bool operator==(const TrainerConfig&) const = default;
};

struct Config {
  ModelConfig model;
  TextConfig text;
  FeatureConfig features;
  DataConfig data;
  OptimizerConfig optimizer;
  LrScheduleConfig lr_schedule;
  PrecisionConfig precision;
  PipelineConfig pipeline;
  TrainerConfig trainer;
  bool operator==(const Config&) const = default;
};

}  // namespace penstock::configs
