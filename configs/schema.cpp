#include "configs/schema.h"

#include <algorithm>

// This file lists the keys of all sections: name, where the value lies, what it may be, and its
// help. Everything else about configurations follows from these rows: loading, printing, the
// reference in docs/configuration.md, and the recipes that checkpoints hold. on_resume() adds which
// of them a run may change when it resumes. Keys on which tensors depend are fixed. Those of
// [pipeline] and [trainer], except the seed, are free, since they say where and how long a run
// computes. Most others change the course of training, so the user must accept the change.

namespace penstock::configs {
namespace {

// Bounds that catch typing errors, as kMaxChannels does.
constexpr double kMaxRanks = 10000, kMaxThreads = 1024, kMaxCheckpoints = 10000;

/// Returns the keys of [model]. Those after model.decoder belong to the family, and change with it.
std::vector<Key> model_keys(ModelConfig& m, std::vector<std::string_view> kinds) {
  std::vector<std::string_view> decoders;
  for (const layers::DecoderKind& decoder : m.family.decoders()) decoders.push_back(decoder.name);
  std::vector<Key> all = {
      Key("model.base", &m.base, anything(),
          "model of configs/models/, or a TOML file; the other keys override it"),
      m.family.kind_key(std::move(kinds)),
      Key("model.features", &m.features, between(1, kMaxChannels),
          "input channels; must equal what [features] makes"),
      Key("model.classes", &m.classes, between(0, kMaxClasses),
          "labels that the model knows, blank included; 0: as many as the text has"),
      Key("model.decoder", &m.decoder, one_of(std::move(decoders)),
          "what makes labels of frames: CTC, a transducer (rnnt), one that also predicts durations "
          "(tdt), a language model (lm), or an attention decoder (attention)"),
  };
  const std::vector<Key> own = m.family.keys();
  all.insert(all.end(), own.begin(), own.end());
  return all;
}

std::vector<Key> lora_keys(LoraConfig& l) {
  return {
      Key("lora.rank", &l.rank, between(0, kMaxChannels),
          "rank of the adapters of linear layers (LoRA); 0: none. With adapters, all other "
          "parameters are frozen but those of lora.train."),
      Key("lora.alpha", &l.alpha, above(0), "adapters are scaled by lora.alpha / lora.rank"),
      Key("lora.dropout", &l.dropout, between(0, 0.95),
          "share of numbers dropped in an adapter's input"),
      Key("lora.targets", &l.targets, anything(),
          "linear layers that get an adapter: patterns of their names, such as "
          "[\"block*.attention.*\"]; one after a ! takes names out"),
      Key("lora.train", &l.train, anything(),
          "parameters that are trained besides adapters, by patterns such as [\"output.*\"]; one "
          "after a ! takes names out. PEFT's modules_to_save"),
  };
}

std::vector<Key> text_keys(TextConfig& t) {
  return {
      Key("text.kind", &t.kind, one_of({"alphabet", "sentencepiece", "bpe"}),
          "what a label stands for: a character of text.alphabet, or a piece or token of "
          "text.model"),
      Key("text.alphabet", &t.alphabet, anything(),
          "characters (Unicode, in UTF-8) of the labels 1, 2, …; 0 is CTC's blank"),
      Key("text.model", &t.model, anything(),
          "SentencePiece model (.model file), or with text.kind = bpe a tokenizer.json or its "
          "folder; "
          "piece i is label i + 1. Checkpoints keep a copy."),
      Key("text.normalise", &t.normalise, one_of({"none", "nfc", "nfkc"}),
          "Unicode normalisation form of transcripts; nfkc also makes ligatures and wide forms "
          "plain characters"),
      Key("text.fold", &t.fold,
          one_of({"lower", "upper", "unicode-lower", "unicode-upper", "none"}),
          "case to which letters of transcripts are converted: those of ASCII and Latin-1 (lower, "
          "upper), or of every script"),
      Key("text.remove", &t.remove, anything(),
          "characters that transcripts lose, once they are normalised and folded"),
  };
}

std::vector<Key> feature_keys(FeatureConfig& f) {
  return {
      Key("features.kind", &f.kind,
          one_of({"spectrogram", "log-mel", "fbank", "whisper", "whisper-0.5s", "whisper-30s",
                  "waveform"}),
          "what a frame holds: log(1 + magnitude), log-mel energies, Kaldi's filter bank, "
          "Whisper's "
          "features, these padded to 0.5 or 30 s, or one sample"),
      Key("features.sample_rate", &f.sample_rate, between(1000, 384000),
          "samples a second; recordings of another rate are resampled"),
      Key("features.window_ms", &f.window_ms, above(0, 1000), "length of a window in milliseconds"),
      Key("features.hop_ms", &f.hop_ms, above(0, 1000), "milliseconds from frame to frame"),
      Key("features.window", &f.window, one_of({"hamming", "hann", "hann-symmetric", "povey"}),
          "shape of a window; the first two are periodic, povey is Kaldi's"),
      Key("features.fft", &f.fft, between(0, 1048576),
          "points of the Fourier transform; 0: as many as a window has samples, and the next power "
          "of two for fbank"),
      Key("features.mels", &f.mels, between(1, kMaxChannels),
          "mel channels, with all kinds but spectrogram and waveform"),
      Key("features.preemphasis", &f.preemphasis, between(0, 1),
          "share of the sample before that is taken away from each sample"),
      Key("features.normalise", &f.normalise, one_of({"utterance", "channel"}),
          "what gets mean 0 and deviation 1: all numbers of an utterance, or each channel's"),
      Key("features.last_frame", &f.last_frame, anything(),
          "false leaves out the last frame, of which about half lies beyond the recording"),
      Key("features.epsilon", &f.epsilon, above(0, 1),
          "number added to the variance, with features.kind = waveform or fbank"),
      Key("features.stack", &f.stack, between(1, 100),
          "adjacent frames that become one, their channels side by side; what is left at the end "
          "is dropped"),
  };
}

std::vector<Key> augment_keys(AugmentConfig& a) {
  return {
      Key("augment.share", &a.share, between(0, 1),
          "share of the training utterances that masks and warp change"),
      Key("augment.freq_masks", &a.freq_masks, between(0, 100),
          "bands of channels that become 0 in each utterance (SpecAugment)"),
      Key("augment.freq_width", &a.freq_width, between(1, kMaxChannels),
          "maximum channels of such a band"),
      Key("augment.time_masks", &a.time_masks, between(0, 1000),
          "spans of frames that become 0 in each utterance (SpecAugment)"),
      Key("augment.time_width", &a.time_width, between(1, 100000),
          "maximum frames of such a span, before features.stack"),
      Key("augment.time_share", &a.time_share, between(0, 1),
          "maximum share of an utterance's frames in such a span"),
      Key("augment.time_warp", &a.time_warp, between(0, 100000),
          "maximum frames by which one frame moves, and those beside it with it (time warp); 0: "
          "none"),
      Key("augment.rooms", &a.rooms, anything(),
          "manifest or folder of room impulse responses, of which one is drawn; empty: none"),
      Key("augment.room_share", &a.room_share, between(0, 1),
          "share of the training utterances that are heard in a room"),
      Key("augment.noise", &a.noise, anything(),
          "manifest or folder of noises, of which a random part is added; empty: none"),
      Key("augment.noise_snr_db", &a.noise_snr_db, between(-100, 100),
          "lowest and highest signal-to-noise ratio, in dB"),
      Key("augment.noise_share", &a.noise_share, between(0, 1),
          "share of the training utterances that get noise"),
      Key("augment.gain_db", &a.gain_db, between(-100, 100),
          "lowest and highest gain of a training utterance, in dB"),
      Key("augment.codecs", &a.codecs, anything(),
          "what training utterances pass, of which one is drawn: g711-mulaw, g711-alaw, gsm, "
          "opus-KBITS (kbit/s, 6 to 510) or band-LOW-HIGH (Hz)"),
      Key("augment.codec_share", &a.codec_share, between(0, 1),
          "share of the training utterances that pass a codec"),
  };
}

std::vector<Key> data_keys(DataConfig& d) {
  return {
      Key("data.train", &d.train, anything(),
          "manifest to train on, or several, such as [{manifest = \"a.jsonl\", weight = 2}, "
          "\"b.jsonl\"]. An epoch has as many hours as they have together. A manifest's share "
          "follows weight × hours^(1 / data.temperature), within its group if it has one"),
      Key("data.temperature", &d.temperature, above(0, 1000),
          "sampling temperature of several manifests: 1 leaves each its share of the hours, 1000 "
          "makes shares equal, but for weights"),
      Key("data.group_temperature", &d.group_temperature, above(0, 1000),
          "the same between groups of manifests, such as languages"),
      Key("data.share_by", &d.share_by, one_of({"hours", "utterances"}),
          "what shares of several manifests count"),
      Key("data.validation", &d.validation, anything(),
          "manifest to validate on, or several, with the rates of each; empty: no validation"),
      Key("data.bad_utterances", &d.bad_utterances, one_of({"refuse", "skip"}),
          "what to do with utterances that can't be used"),
      Key("data.min_seconds", &d.min_seconds, at_least(0),
          "shorter utterances are left out; 0: no limit"),
      Key("data.max_seconds", &d.max_seconds, at_least(0),
          "longer utterances are left out; 0: no limit"),
      Key("data.micro_batch_seconds", &d.micro_batch_seconds, above(0, 86400),
          "maximum seconds of audio in a micro-batch"),
      Key("data.micro_batch_utterances", &d.micro_batch_utterances, between(0, 65536),
          "maximum utterances in a micro-batch; 0: no limit"),
      Key("data.micro_batches", &d.micro_batches, between(1, 65536),
          "micro-batches in a step, over all lanes"),
      Key("data.batch_seconds", &d.batch_seconds, between(0, 864000),
          "maximum seconds of audio in a step, over all replicas: micro_batch_seconds × "
          "micro_batches, of which one or both may then be left out. Without both, a plan divides "
          "the step, or micro-batches are equal, of at most 32 s. 0: they say it."),
      Key("data.short_first", &d.short_first, at_least(-1),
          "micro-batches of its shortest utterances that begin the first epoch; -1: all"),
      Key("data.speeds", &d.speeds, between(kSlowestSpeed, kFastestSpeed),
          "speed factors, one sampled for each utterance and epoch"),
      Key("data.failing_utterances", &d.failing_utterances, between(0, 1),
          "maximum share of an epoch's utterances that may fail to load after the start"),
      Key("data.loaders", &d.loaders, between(0, kMaxThreads),
          "threads of a rank that read audio and make features. 0: its share of the cores that no "
          "rank computes on, 1 to 16"),
      Key("data.cache", &d.cache, anything(),
          "folder that keeps lengths of recordings, and what is downloaded, between runs; empty: "
          "$XDG_CACHE_HOME/penstock, else ~/.cache/penstock"),
      Key("data.cache_gib", &d.cache_gib, between(0, 1 << 20),
          "GiB that lengths may take in data.cache, as many that downloads may, and as many that "
          "checkpoints may; beyond, those unused longest go. 0: nothing is kept or downloaded"),
  };
}

std::vector<Key> optimizer_keys(OptimizerConfig& o) {
  return {
      Key("optimizer.kind", &o.kind, one_of({"adamw", "sgd", "lamb", "novograd"}), "update rule"),
      Key("optimizer.learning_rate", &o.learning_rate, above(0), "learning rate after warm-up"),
      Key("optimizer.beta1", &o.beta1, between(0, 0.999999),
          "decay of the first moment of adamw, lamb and novograd"),
      Key("optimizer.beta2", &o.beta2, between(0, 0.999999),
          "decay of the second moment of adamw, lamb and novograd"),
      Key("optimizer.epsilon", &o.epsilon, above(0),
          "added to denominators of adamw, lamb, novograd and LARC"),
      Key("optimizer.momentum", &o.momentum, between(0, 0.999999), "momentum of sgd"),
      Key("optimizer.nesterov", &o.nesterov, anything(), "Nesterov momentum in sgd"),
      Key("optimizer.larc", &o.larc, at_least(0),
          "sgd: largest update of a parameter, as a share of its norm (LARC); 0: no limit"),
      Key("optimizer.weight_decay", &o.weight_decay, at_least(0),
          "weight decay of every parameter, as in PyTorch: decoupled in adamw, added to the "
          "gradient in sgd"),
      Key("optimizer.clip_norm", &o.clip_norm, at_least(0),
          "largest norm of the whole gradient; 0: no clipping"),
      Key("optimizer.freeze", &o.freeze, anything(),
          "parameters that stay as they are: patterns of their names, with * and ?; one after a ! "
          "takes names out"),
      Key("optimizer.learning_rates", &o.learning_rates, anything(),
          "factors of the learning rate: \"pattern: factor\" of parameter names, of which the "
          "first that matches holds"),
      Key("optimizer.state", &o.state, one_of({"fp32", "bf16", "8bit"}),
          "number format of what the optimizer keeps of each weight: 4, 2 or 1 bytes a number. "
          "bf16 rounds at random, 8bit has a scale for 256 weights. It changes results a little."),
  };
}

std::vector<Key> lr_schedule_keys(LrScheduleConfig& s) {
  return {
      Key("lr_schedule.kind", &s.kind, one_of({"constant", "exponential", "cosine", "polynomial"}),
          "course of the learning rate after warm-up"),
      Key("lr_schedule.warmup", &s.warmup, at_least(0),
          "steps over which the learning rate rises from 0"),
      Key("lr_schedule.total_steps", &s.total_steps, at_least(0),
          "step at which cosine and polynomial end"),
      Key("lr_schedule.min_lr", &s.min_lr, at_least(0), "learning rate at total_steps and after"),
      Key("lr_schedule.power", &s.power, above(0), "exponent of polynomial"),
      Key("lr_schedule.decay", &s.decay, above(0, 1),
          "exponential: share of the learning rate that is left after lr_schedule.decay_steps"),
      Key("lr_schedule.decay_steps", &s.decay_steps, at_least(1),
          "exponential: steps in which the learning rate falls to lr_schedule.decay of itself"),
  };
}

std::vector<Key> precision_keys(PrecisionConfig& p) {
  return {
      Key("precision.compute", &p.compute, one_of({"fp32", "tf32", "fp16", "bf16"}),
          "number format of the layers; fp16 and bf16 keep FP32 master weights. tf32 is fp32 whose "
          "products CUDA devices compute in TF32; a CPU computes it as fp32."),
      Key("precision.loss_scaling", &p.loss_scaling, one_of({"static", "backoff", "logmax"}),
          "how fp16 chooses the loss scale, which keeps small gradients from vanishing"),
      Key("precision.scale", &p.scale, between(1, 65536),
          "loss scale, with precision.loss_scaling = static"),
  };
}

/// Returns the values of pipeline.schedule. A star stands for any text: a number of chunks, or a
/// path.
std::vector<std::string_view> schedule_choices() {
  std::vector<std::string_view> choices(kNamedSchedules.begin(), kNamedSchedules.end());
  choices.insert(choices.end(), {"found", "interleaved-*", "*.csv"});
  return choices;
}

std::vector<Key> pipeline_keys(PipelineConfig& p) {
  return {
      Key("pipeline.plan", &p.plan, anything(),
          "plan file; it sets stages, replicas, schedule, lanes, order, recomputation, sharding "
          "and, with data.batch_seconds, micro-batches; empty: a plan is made at the start"),
      Key("pipeline.stages", &p.stages, between(1, kMaxRanks),
          "stages into which the model is cut"),
      Key("pipeline.replicas", &p.replicas, between(1, kMaxRanks),
          "copies of every stage, each with its share of the data"),
      Key("pipeline.schedule", &p.schedule, one_of(schedule_choices()),
          "order of forward and backward passes. found is searched for the data's micro-batches. "
          "interleaved-5 has five chunks a rank, its virtual pipeline size, and so on. A file "
          "holds lists as penstock schedule --csv writes them."),
      Key("pipeline.recompute", &p.recompute, one_of({"none", "selective", "stage", "layers"}),
          "activations that backward recomputes: none, those of cheap layers within residual units "
          "(selective), of whole stages, or of pipeline.recompute_layers. Depthwise convolutions "
          "are cheap, products are not. This saves memory, costs time and changes no bit."),
      Key("pipeline.recompute_layers", &p.recompute_layers, anything(),
          "layers to recompute, with pipeline.recompute = layers or selective; adjacent ones in a "
          "stage keep only the first one's input"),
      Key("pipeline.resident", &p.resident, between(0, 65536),
          "of each chunk, the micro-batches whose activations stay on the device between forward "
          "and backward; those of the others wait in the host's memory. This saves memory, costs "
          "copying and changes no bit. 0: all stay."),
      Key("pipeline.bucket_bytes", &p.bucket_bytes, between(0, 1 << 30),
          "bytes of gradient that replicas add at once, at least 4096. 0: as many as suit the "
          "replicas and their links. This changes no bit."),
      Key("pipeline.shard_optimizer", &p.shard_optimizer, anything(),
          "each replica keeps and updates a part of the optimizer state (ZeRO-1), and in fp16 and "
          "bf16 of the FP32 masters. With pipeline.reduction = lanes this changes no bit."),
      Key("pipeline.post_validation", &p.post_validation, anything(),
          "ranks update before they agree on gradient norm and overflow, and roll back updates to "
          "be clipped or skipped. This saves the pause between steps and costs a copy of weights "
          "and optimizer state. It changes no bit."),
      Key("pipeline.reduction", &p.reduction, one_of({"lanes", "nccl"}),
          "who adds the replicas' gradients: penstock in one tree of lanes, with equal bits in "
          "every layout, or NCCL in its own order"),
      Key("pipeline.memory_gib", &p.memory_gib, at_least(0),
          "GiB of memory that a rank may use; 0: no limit"),
  };
}

std::vector<Key> trainer_keys(TrainerConfig& t) {
  return {
      Key("trainer.steps", &t.steps, at_least(1),
          "step at which the run stops; learning-rate schedules do not depend on it"),
      Key("trainer.seed", &t.seed, anything(),
          "seed of initial weights, order of the data, dropout and speeds"),
      Key("trainer.lanes", &t.lanes, between(0, kMaxRanks),
          "gradient sums of a step; 0: the checkpoint's number, or as many as replicas"),
      Key("trainer.order", &t.order, between(0, 65535),
          "for each place in a step, the number of its micro-batch, 0 being the longest. []: the "
          "checkpoint's order. A new run takes it as sampled, or as found with pipeline.schedule = "
          "found."),
      Key("trainer.scaling", &t.scaling, one_of({"none", "linear", "sqrt"}),
          "how the learning rate follows a batch that changes. With linear or sqrt, penstock run "
          "lets "
          "a replica keep its share of the step. A smaller step counts as a part of one, and its "
          "learning rate is that part or the root of it. none: the batch stays, and so do the "
          "bits."),
      Key("trainer.output", &t.output, filled_text(),
          "folder for metrics.jsonl and checkpoints, or a place in an object store, such as "
          "s3://BUCKET/RUN"),
      Key("trainer.resume", &t.resume, anything(),
          "continue from the newest checkpoint in the output folder or the object store"),
      Key("trainer.accept", &t.accept, anything(),
          "keys marked †, data.train, augment.noise, augment.rooms or trainer.order, which a run "
          "that resumes may then change, such as [\"optimizer.learning_rate\"]"),
      Key("trainer.init", &t.init, anything(),
          "checkpoint, or output folder, or URL of one, whose weights a new run starts from; a run "
          "that resumes ignores it"),
      Key("trainer.init_head", &t.init_head, one_of({"auto", "keep", "new", "pieces"}),
          "last product of a run with trainer.init: taken if labels are the checkpoint's, always "
          "taken, new, or with the rows of labels that both have"),
      Key("trainer.threads", &t.threads, between(1, kMaxThreads), "CPU threads of a rank"),
      Key("trainer.device", &t.device, one_of({"auto", "cpu", "cuda"}),
          "where to compute; auto: on CUDA devices where the ranks have them"),
      Key("trainer.validate_every", &t.validate_every, at_least(-1),
          "steps between validations; 0: every epoch; -1: never"),
      Key("trainer.validate_utterances", &t.validate_utterances, at_least(0),
          "how many utterances of data.validation a validation hears, the same each time; 0: all"),
      Key("trainer.early_stopping_patience", &t.early_stopping_patience, at_least(0),
          "validations in a row without a better trainer.best_metric that end the run; 0: none do"),
      Key("trainer.early_stopping_threshold", &t.early_stopping_threshold, at_least(0),
          "how much lower than before a better validation must be, such as 0.001 of WER"),
      Key("trainer.max_skipped", &t.max_skipped, between(0, 1000000),
          "consecutive steps that may be skipped because gradients are not finite; more end the "
          "run"),
  };
}

/// Returns the keys of [trainer] that say which states are kept, and where.
std::vector<Key> checkpoint_keys(TrainerConfig& t) {
  return {
      Key("trainer.checkpoint_every", &t.checkpoint_every, at_least(0),
          "steps between checkpoints; 0: every epoch"),
      Key("trainer.checkpoint_seconds", &t.checkpoint_seconds, at_least(0),
          "seconds after which a checkpoint is saved besides; 0: only by steps"),
      Key("trainer.keep", &t.keep, between(1, kMaxCheckpoints),
          "newest checkpoints to keep, besides the best"),
      Key("trainer.best_metric", &t.best_metric, one_of({"wer", "cer", "loss"}),
          "what is lowest in the validation of the best checkpoint: the rate of word errors or of "
          "character errors, or the loss"),
      Key("trainer.ema", &t.ema, between(0, 0.999999),
          "decay of a moving average of the weights, kept beside them, such as 0.999. Validation "
          "and all that reads a checkpoint take the average. 0: there is none"),
      Key("trainer.mirror", &t.mirror, anything(),
          "place in an object store, such as s3://BUCKET/RUN, to which checkpoints are copied "
          "while training goes on"),
      Key("trainer.mirror_seconds", &t.mirror_seconds, at_least(0),
          "seconds that the end of a run waits for an upload on which nothing arrives"),
  };
}

/// Returns true for keys of models and decoders on which no tensor depends: dropout, the context of
/// attention, the lengths of masks, and what shapes a loss or texts alone.
bool acts_beside_weights(std::string_view key) {
  constexpr std::string_view alone[] = {"model.left_context",
                                        "model.right_context",
                                        "model.apply_spec_augment",
                                        "model.mask_time_length",
                                        "model.mask_time_min_masks",
                                        "model.mask_feature_length",
                                        "model.mask_feature_min_masks",
                                        "model.intermediate_ctc_weight",
                                        "decoder.sigma",
                                        "decoder.smoothing",
                                        "decoder.suppress",
                                        "decoder.begin_suppress",
                                        "decoder.languages",
                                        "decoder.prompts"};
  return key.find("drop") != std::string_view::npos ||
         std::ranges::find(alone, key) != std::end(alone);
}

}  // namespace

OnResume on_resume(const Key& key) {
  // Training data, noises, rooms and pieces are compared by their hashes, not by the names of their
  // files. The size of a step follows from its micro-batches.
  constexpr std::string_view free[] = {
      "model.base",      "text.model",         "data.train",
      "data.validation", "data.batch_seconds", "data.failing_utterances",
      "data.loaders",    "data.cache",         "data.cache_gib",
      "augment.noise",   "augment.rooms"};
  constexpr std::string_view fixed[] = {"text.kind",       "text.alphabet", "optimizer.kind",
                                        "optimizer.state", "lora.rank",     "lora.targets"};
  if (std::ranges::find(free, key.name) != std::end(free)) return OnResume::free;
  if (std::ranges::find(fixed, key.name) != std::end(fixed)) return OnResume::fixed;
  // A key of a family decides the shapes of weights, unless it is known not to.
  if (key.section() == "model" && !acts_beside_weights(key.name)) return OnResume::fixed;
  if (key.section() == "decoder" && !acts_beside_weights(key.name)) return OnResume::fixed;
  if (key.section() == "pipeline" || key.section() == "trainer")
    return key.name == "trainer.seed" || key.name == "trainer.ema" || key.name == "trainer.scaling"
               ? OnResume::accepted
               : OnResume::free;
  return OnResume::accepted;
}

std::string_view why_fixed(std::string_view key) {
  if (key.starts_with("model.") || key.starts_with("decoder."))
    return "the checkpoint's weights are of that model";
  if (key.starts_with("lora.")) return "the checkpoint's adapters have that rank and these layers";
  if (key.starts_with("text.")) return "the checkpoint's head has a row for each of its labels";
  return "the checkpoint's optimizer state is of that kind";
}

Config default_config(std::span<const layers::ModelFamily> families) {
  Config config;
  if (!families.empty()) config.model.family = families.front();
  return config;
}

// Keys are made anew for each call, as they point into the given Config.
std::vector<Key> keys(Config& config, std::span<const layers::ModelFamily> families) {
  std::vector<std::string_view> kinds;
  for (const layers::ModelFamily& family : families) kinds.push_back(family.name());
  std::vector<Key> all = model_keys(config.model, std::move(kinds));
  for (const auto& section :
       {config.model.networks.keys(), lora_keys(config.model.lora), text_keys(config.text),
        feature_keys(config.features), augment_keys(config.augment), data_keys(config.data),
        optimizer_keys(config.optimizer), lr_schedule_keys(config.lr_schedule),
        precision_keys(config.precision), pipeline_keys(config.pipeline),
        trainer_keys(config.trainer), checkpoint_keys(config.trainer)}) {
    all.insert(all.end(), section.begin(), section.end());
  }
  return all;
}

std::vector<Key> keys(Config& config) { return keys(config, {&config.model.family, 1}); }

std::optional<Key> find_key(Config& config, std::string_view name) {
  const std::vector<Key> all = keys(config);
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Key& k) { return k.name == name; });
  return found == all.end() ? std::nullopt : std::optional<Key>(*found);
}

}  // namespace penstock::configs
