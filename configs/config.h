#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "layers/models/decoder.h"
#include "layers/models/model_family.h"

namespace penstock::configs {

/// [lora]: low-rank adapters of linear layers (Hu et al. 2021), as PEFT has them.
struct LoraConfig {
  int rank = 0;                           // 0: no adapters
  double alpha = 16;                      // adapters are scaled by alpha / rank
  double dropout = 0;                     // of their inputs
  std::vector<std::string> targets = {};  // patterns of linear layers that get an adapter
  std::vector<std::string> train = {};    // patterns of parameters that are trained besides
  bool operator==(const LoraConfig&) const = default;
};

/// [model]: the model to train. `base` names a file of configs/models/; the other keys override
/// that file's.
struct ModelConfig {
  std::string base = {};
  int features = 161;           // input channels; must equal what [features] makes
  int classes = 0;              // outputs of the last layer; 0: as many as the text has labels
  std::string decoder = "ctc";  // one of family.decoders()
  layers::ModelFamily family;   // chosen by model.kind, with the values of the family's own keys
  layers::DecoderOptions networks = {};  // the section [decoder]
  LoraConfig lora = {};                  // the section [lora]

  layers::DecoderKind decoder_kind() const {
    return layers::find_decoder(family.decoders(), decoder);
  }
  /// Returns the decoder's loss, which ends the model.
  layers::Loss loss() const { return decoder_kind().loss(networks); }
  bool operator==(const ModelConfig&) const = default;
};

/// [text]: labels. Label 0 is the loss's own; the alphabet's characters or the model's pieces
/// follow in order.
struct TextConfig {
  std::string kind = "alphabet";  // alphabet | sentencepiece | bpe
  std::string alphabet = "'abcdefghijklmnopqrstuvwxyz ";
  std::string model;  // sentencepiece: a .model file; bpe: a tokenizer.json, or a folder
  std::string normalise = "none";  // none | nfc | nfkc, applied to transcripts
  std::string fold = "lower";  // applied next: lower | upper | unicode-lower | unicode-upper | none
  std::string remove = {};     // characters removed from transcripts, after both
  bool operator==(const TextConfig&) const = default;
};

/// [features]: how audio becomes frames.
struct FeatureConfig {
  // spectrogram (log1p of magnitude) | log-mel | fbank (as in Kaldi) | waveform
  std::string kind = "spectrogram";
  int sample_rate = 16000;
  double window_ms = 20, hop_ms = 10;
  std::string window = "hamming";       // hamming | hann | hann-symmetric | povey
  int fft = 0;                          // 0: the window's samples; for fbank the next power of two
  int mels = 80;                        // for log-mel and fbank
  double preemphasis = 0;               // share of the previous sample that is subtracted
  std::string normalise = "utterance";  // utterance | channel: scope of mean and deviation
  bool last_frame = true;  // keep the last frame, of which half lies beyond the recording
  double epsilon = 1e-7;   // for waveform and fbank: added to the variance
  int stack = 1;           // adjacent frames that are joined into one
  bool operator==(const FeatureConfig&) const = default;
  double frames_per_second() const {
    return kind == "waveform" ? sample_rate : 1000 / hop_ms / stack;
  }
};

/// [augment]: random changes of recordings and features in training. The defaults change nothing.
struct AugmentConfig {
  // SpecAugment (Park et al. 2019)
  double share = 1;         // of the utterances whose features are changed
  int freq_masks = 0;       // bands of channels that become 0
  int freq_width = 27;      // maximum channels of a band
  int time_masks = 0;       // spans of frames that become 0
  int time_width = 100;     // maximum frames of a span
  double time_share = 0.2;  // maximum share of an utterance's frames in a span
  int time_warp = 0;        // maximum frames by which a frame moves
  // the recordings
  std::string rooms = {};                       // manifest of room impulse responses; empty: none
  double room_share = 1;                        // of the utterances that are heard in a room
  std::string noise = {};                       // manifest of noises; empty: none
  std::vector<double> noise_snr_db = {10, 20};  // lowest and highest signal-to-noise ratio
  double noise_share = 1;                       // of the utterances that get noise
  std::vector<double> gain_db = {0, 0};         // lowest and highest gain
  std::vector<std::string> codecs = {};         // see Codec; one is drawn
  double codec_share = 1;                       // of the utterances that pass a codec
  bool operator==(const AugmentConfig&) const = default;

  bool changes_features() const { return freq_masks > 0 || time_masks > 0 || time_warp > 0; }
  bool changes_audio() const {
    return !rooms.empty() || !noise.empty() || gain_db != std::vector<double>{0, 0} ||
           !codecs.empty();
  }
};

/// Range of speed factors at which speech stays intelligible.
inline constexpr double kSlowestSpeed = 0.5, kFastestSpeed = 2;

/// [data]: utterances and how they form micro-batches.
struct DataConfig {
  std::vector<WeightedManifest> train = {};       // several are mixed
  double temperature = 1;                         // for mixing; above 1, shares become more alike
  double group_temperature = 1;                   // the same between groups of manifests
  std::string share_by = "hours";                 // hours | utterances
  std::vector<WeightedManifest> validation = {};  // several are one set; weights are all 1
  std::string bad_utterances = "refuse";          // refuse | skip
  double min_seconds = 0, max_seconds = 0;        // 0: no bound; others are left out and counted
  double micro_batch_seconds = 32;                // maximum audio in a micro-batch
  int micro_batch_utterances = 0;                 // maximum in a micro-batch; 0: no bound
  int micro_batches = 4;                          // per step, over all lanes
  double batch_seconds = 0;          // seconds of audio per step; 0: as the keys above say
  std::int64_t short_first = 0;      // micro-batches that begin the first epoch by length; -1: all
  std::vector<double> speeds = {1};  // factors; one is sampled for each utterance and epoch
  double failing_utterances = 0.01;  // share of an epoch that may fail after the start
  int loaders = 0;                   // threads that read audio; 0: spare cores
  std::string cache = {};            // folder for indexes of manifests; empty: the user's cache
  double cache_gib = 8;              // maximum size of that folder; 0: nothing is kept
  bool operator==(const DataConfig&) const = default;
};

/// [optimizer]: the update rule and its parameters.
struct OptimizerConfig {
  std::string kind = "adamw";  // adamw | sgd | lamb | novograd
  double learning_rate = 3e-4;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double momentum = 0.9;
  bool nesterov = true;
  double larc = 0;  // sgd's trust coefficient; 0: no LARC
  double weight_decay = 1e-5;
  double clip_norm = 400;                        // norm of the whole gradient; 0: no clipping
  std::vector<std::string> freeze = {};          // patterns of parameters that are not trained
  std::vector<std::string> learning_rates = {};  // "pattern: factor"; the first match holds
  std::string state = "fp32";                    // fp32 | bf16 | 8bit
  bool operator==(const OptimizerConfig&) const = default;
};

/// [lr_schedule]: the learning rate over the steps.
struct LrScheduleConfig {
  std::string kind = "constant";  // constant | exponential | cosine | polynomial
  std::int64_t warmup = 0;        // linear from 0
  std::int64_t total_steps = 0;   // end of cosine and polynomial, which require it
  double min_lr = 0;              // learning rate at total_steps and after
  double power = 1;               // for polynomial
  double decay = 0.99;            // for exponential: share left after `decay_steps`
  std::int64_t decay_steps = 1000;
  bool operator==(const LrScheduleConfig&) const = default;
};

/// [precision]: number format in which layers compute. Masters, gradient sums and optimizer state
/// are FP32.
struct PrecisionConfig {
  std::string compute = "fp32";          // fp32 | tf32 | fp16 | bf16
  std::string loss_scaling = "backoff";  // for fp16: static | backoff | logmax
  double scale = 1024;                   // for static
  bool operator==(const PrecisionConfig&) const = default;
};

/// The named schedules that partition::make_schedule() generates, in the order of messages.
inline constexpr std::array<std::string_view, 11> kNamedSchedules = {
    "gpipe", "1f1b", "interleaved", "interleaved-3", "interleaved-4", "zb-h1",
    "zb-h2", "zb-v", "v-half",      "v-min",         "dualpipe-v"};

/// [pipeline]: how the model is split over ranks.
struct PipelineConfig {
  std::string plan;  // a plan file; empty: a plan is made at the start
  int stages = 1, replicas = 1;
  std::string schedule = "1f1b";   // a name in docs/design/schedules.md, or a path *.csv of lists
  std::string recompute = "none";  // none | selective | stage | layers
  std::vector<std::string> recompute_layers;
  int resident = 0;  // micro-batches per chunk whose activations stay on the device; 0: all
  std::int64_t bucket_bytes = 0;    // for the sums over replicas; 0: by replicas and links
  bool shard_optimizer = false;     // over replicas; with fp16 or bf16 also the FP32 masters
  bool post_validation = false;     // update before all ranks know the gradient's norm
  std::string reduction = "lanes";  // lanes | nccl
  double memory_gib = 0;            // limit per rank; 0: none
  bool operator==(const PipelineConfig&) const = default;
};

/// [trainer]: the run.
struct TrainerConfig {
  std::int64_t steps = 1000;  // step at which the run stops; nothing else depends on it
  std::uint64_t seed = 1;
  int lanes = 0;  // 0: the checkpoint's, or as many as replicas
  /// For each place of a step, the number of its micro-batch; 0 is the longest. If empty, the
  /// checkpoint's order holds; a new run takes micro-batches as sampled, or as the found schedule
  /// wants them.
  std::vector<int> order;
  std::string output = "outputs/run";
  bool resume = false;
  std::vector<std::string> accept = {};      // keys that may differ from the checkpoint's on resume
  std::string init = {};                     // checkpoint from which a new run takes its weights
  std::string init_head = "auto";            // auto | keep | new | pieces
  int threads = 1;                           // CPU threads per rank
  std::string device = "auto";               // auto | cpu | cuda
  std::int64_t validate_every = 0;           // steps; 0: every epoch; -1: never
  std::int64_t validate_utterances = 0;      // sample of data.validation; 0: all
  std::int64_t checkpoint_every = 0;         // steps; 0: every epoch
  double checkpoint_seconds = 1800;          // 0: by steps alone
  int keep = 3;                              // newest checkpoints to keep, besides the best
  std::string best_metric = "wer";           // wer | cer | loss: the best checkpoint has the lowest
  std::int64_t early_stopping_patience = 0;  // validations without a better one; 0: no limit
  double early_stopping_threshold = 0;       // a better one is lower by more than this
  double ema = 0;                            // decay of the moving averages of weights; 0: none
  std::string scaling = "none";  // none | linear | sqrt: of the learning rate by the batch
  std::string mirror = {};       // URL of a store that gets a copy of each checkpoint
  double mirror_seconds = 600;   // how long the end of a run waits for an upload that hangs
  int max_skipped = 20;          // consecutive steps; more count as divergence
  bool operator==(const TrainerConfig&) const = default;
};

struct Config {
  ModelConfig model;
  TextConfig text;
  FeatureConfig features;
  AugmentConfig augment;
  DataConfig data;
  OptimizerConfig optimizer;
  LrScheduleConfig lr_schedule;
  PrecisionConfig precision;
  PipelineConfig pipeline;
  TrainerConfig trainer;
  bool operator==(const Config&) const = default;
};

}  // namespace penstock::configs
