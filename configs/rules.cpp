#include "configs/rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/name_match.h"
#include "base/quantities.h"
#include "configs/codec.h"
#include "configs/schema.h"
#include "configs/text_rules.h"
#include "configs/value.h"

// Rules compare keys with each other, after each has passed its own range. A rule yields the key to
// name and a sentence that says what to change. The rules of a part of the configuration stand
// together, and are independent: all that is wrong is reported at once.

namespace penstock::configs {
namespace {

/// Returns the fault of text.remove, or "".
std::string fault_of_removal(const TextConfig& text) try {
  (void)text_rules(text);
  return {};
} catch (const ConfigError& error) {
  return error.what();
}

/// Returns the fault of [text], or "".
std::string fault_of(const TextConfig& text) try {
  alphabet_characters(text);
  return {};
} catch (const ConfigError& error) {
  return error.what();
}

/// Returns the fault of optimizer.learning_rates, or "".
std::string fault_of(const OptimizerConfig& optimizer) try {
  rate_factors(optimizer);
  return {};
} catch (const ConfigError& error) {
  return error.what();
}

// Each of the functions below returns the contradictions within a part of a Config, with the key
// that the message is about.
using Found = std::vector<Contradiction>;

Found of_optimization(const Config& c) {
  Found found;
  const auto& s = c.lr_schedule;
  // Only these kinds fall to min_lr, at total_steps.
  const bool falls = s.kind == "cosine" || s.kind == "polynomial";
  if (falls && s.total_steps <= s.warmup)
    found.push_back(
        {s.total_steps > 0 ? "lr_schedule.total_steps" : "lr_schedule.kind",
         fmt::format("lr_schedule.kind = {} ends at lr_schedule.total_steps = {}, which must "
                     "be above lr_schedule.warmup = {}",
                     s.kind, s.total_steps, s.warmup)});
  if (c.optimizer.larc > 0 && c.optimizer.kind != "sgd")
    found.push_back(
        {"optimizer.larc", fmt::format("optimizer.larc needs optimizer.kind = sgd, not {}: set "
                                       "optimizer.larc = 0, or choose sgd",
                                       c.optimizer.kind)});
  if (const std::string wrong = fault_of(c.optimizer); !wrong.empty())
    found.push_back({"optimizer.learning_rates", wrong});
  double min_lr = s.min_lr, peak = c.optimizer.learning_rate;
  if (falls && min_lr > peak)
    found.push_back({"lr_schedule.min_lr",
                     fmt::format("lr_schedule.min_lr = {} is above optimizer.learning_rate = {}: "
                                 "lr_schedule.kind = {} can only fall",
                                 value_text(&min_lr), value_text(&peak), s.kind)});
  return found;
}

Found of_data(const Config& c) {
  Found found;
  if (c.data.max_seconds > 0 && c.data.min_seconds >= c.data.max_seconds)
    found.push_back(
        {"data.min_seconds",
         "data.min_seconds must be below data.max_seconds: no utterance lies between them"});
  for (const auto& [manifest, weight, group] : c.data.validation)
    if (weight != 1 || !group.empty())
      found.push_back({"data.validation",
                       fmt::format("data.validation has {}, but each of its utterances is heard "
                                   "once: name {} without weight and group",
                                   weight != 1 ? fmt::format("a weight of {}", weight)
                                               : fmt::format("the group {}", group),
                                   manifest)});
  return found;
}

Found of_text(const Config& c) {
  const bool pieces = c.text.kind != "alphabet";
  Found found;
  if (c.text.kind == "sentencepiece" && c.text.model.empty())
    found.push_back({"text.kind",
                     "text.kind = sentencepiece needs a model of pieces: name its file in "
                     "text.model; `penstock data tokens` makes one"});
  if (c.text.kind == "bpe" && c.text.model.empty())
    found.push_back({"text.kind",
                     "text.kind = bpe needs a byte-level BPE: name its tokenizer.json, or the "
                     "folder of a Hugging Face model, in text.model"});
  if (!pieces && !c.text.model.empty())
    found.push_back(
        {"text.model", fmt::format("text.model needs text.kind = sentencepiece or bpe, not {}: set "
                                   "that, or leave the model out",
                                   c.text.kind)});
  // A fault of text.remove would be reported a second time as one of the alphabet, which is checked
  // by the same rules.
  if (const std::string wrong = fault_of_removal(c.text); !wrong.empty()) {
    found.push_back({"text.remove", wrong});
  } else if (const std::string in_all = pieces ? "" : fault_of(c.text); !in_all.empty()) {
    found.push_back({"text.alphabet", in_all});
  }
  return found;
}

Found of_pipeline(const Config& c) {
  Found found;
  const auto& p = c.pipeline;
  if (p.recompute == "layers" && p.recompute_layers.empty())
    found.push_back(
        {"pipeline.recompute",
         "pipeline.recompute = layers needs the layers' names in pipeline.recompute_layers"});
  if (p.recompute != "layers" && p.recompute != "selective" && !p.recompute_layers.empty())
    found.push_back(
        {"pipeline.recompute_layers",
         fmt::format(
             "pipeline.recompute_layers needs pipeline.recompute = layers or selective, not "
             "{}: set that, or leave the list out",
             p.recompute)});
  // The key's own range can't say "0, or at least 4096".
  if (p.bucket_bytes > 0 && p.bucket_bytes < 4096)
    found.push_back({"pipeline.bucket_bytes",
                     fmt::format("pipeline.bucket_bytes = {} makes too many messages: set at least "
                                 "4096, or 0 for what suits the replicas",
                                 p.bucket_bytes)});
  if (p.post_validation &&
      (c.optimizer.kind == "lamb" || c.optimizer.kind == "novograd" || c.optimizer.larc > 0))
    found.push_back({"pipeline.post_validation",
                     "pipeline.post_validation needs optimizer.kind = adamw, or sgd without "
                     "optimizer.larc: other optimizers need norms before they update"});
  if (p.post_validation && c.precision.compute == "fp16" && c.precision.loss_scaling == "logmax")
    found.push_back({"pipeline.post_validation",
                     "pipeline.post_validation needs precision.loss_scaling = backoff or "
                     "static: logmax needs every gradient's size before the next step"});
  return found;
}

Found of_lora(const Config& c) {
  const LoraConfig& lora = c.model.lora;
  Found found;
  if (lora.rank > 0 && lora.targets.empty())
    found.push_back(
        {"lora.targets",
         fmt::format("lora.rank = {} needs layers to adapt: set lora.targets to patterns "
                     "of their names, such as [\"*.qkv\"] or [\"*\"]",
                     lora.rank)});
  for (const auto& [key, patterns] :
       {std::pair{"lora.targets", &lora.targets}, std::pair{"lora.train", &lora.train}})
    if (lora.rank == 0 && !patterns->empty())
      found.push_back({key, fmt::format("{} has no effect without adapters: set lora.rank, such as "
                                        "lora.rank=16, or leave it out",
                                        key)});
  return found;
}

/// KeyWithoutEffect is a key that features.kind may ignore; `set` is true if somebody set it all
/// the same.
struct KeyWithoutEffect {
  const char* key;
  bool set;
};

/// Finds keys that are set although features.kind ignores them.
Found without_effect(const FeatureConfig& f) {
  // A value that differs from the default was set by somebody, who expects it to matter.
  const FeatureConfig usual;
  const bool waveform = f.kind == "waveform", fbank = f.kind == "fbank";
  const bool whisper = f.kind.starts_with("whisper");
  const KeyWithoutEffect keys[] = {
      {"features.epsilon",
       f.epsilon != usual.epsilon && !waveform && !(fbank && f.normalise == "channel")},
      {"features.preemphasis", f.preemphasis != usual.preemphasis && waveform},
      {"features.normalise", f.normalise != usual.normalise && (waveform || whisper)},
      {"features.stack", f.stack != usual.stack && waveform},
      {"features.last_frame", f.last_frame != usual.last_frame && (waveform || fbank || whisper)}};
  Found found;
  for (const auto& [key, set] : keys)
    if (set)
      found.push_back({key, fmt::format("{} has no effect with features.kind = {}: leave it out, "
                                        "or choose another kind",
                                        key, f.kind)});
  return found;
}

Found of_features(const Config& c) {
  const auto& f = c.features;
  Found found = without_effect(f);
  const auto window = static_cast<std::int64_t>(std::llround(f.sample_rate * f.window_ms / 1000));
  if (f.fft > 0 && f.fft < window)
    found.push_back(
        {"features.fft",
         fmt::format("features.fft = {} is below the window's {} samples", f.fft, window)});
  const std::int64_t bins = fft_points(f, window) / 2 + 1;
  const bool mels = f.kind != "spectrogram" && f.kind != "waveform";
  if (mels && f.mels > bins)
    found.push_back({"features.mels",
                     fmt::format("features.mels = {} is above the {} bins of the spectrum: some "
                                 "channels would always be empty",
                                 f.mels, bins)});
  return found;
}

/// Returns the fault of augment.codecs, or "".
std::string fault_of(const AugmentConfig& augment, int sample_rate) try {
  (void)parse_codecs(augment, sample_rate);
  return {};
} catch (const ConfigError& error) {
  return error.what();
}

/// Returns the fault of a key that holds a range, or "".
std::string fault_of_range(std::string_view key, const std::vector<double>& range) {
  if (range.size() == 2 && range[0] <= range[1]) return {};
  return fmt::format("{} = [{}] is no range: it takes the lowest and the highest value, such as {}",
                     key, fmt::join(range, ", "),
                     key == "augment.gain_db" ? "[-10, 5]" : "[5, 20]");
}

Found of_augment(const Config& c) {
  const AugmentConfig& a = c.augment;
  Found found;
  if (const std::string wrong = fault_of_range("augment.gain_db", a.gain_db); !wrong.empty())
    found.push_back({"augment.gain_db", wrong});
  if (const std::string wrong = fault_of_range("augment.noise_snr_db", a.noise_snr_db);
      !wrong.empty())
    found.push_back({"augment.noise_snr_db", wrong});
  if (const std::string wrong = fault_of(a, c.features.sample_rate); !wrong.empty())
    found.push_back({"augment.codecs", wrong});
  if (c.features.kind != "waveform") return found;
  for (const auto& [key, value] :
       {std::pair{"augment.freq_masks", a.freq_masks},
        std::pair{"augment.time_masks", a.time_masks}, std::pair{"augment.time_warp", a.time_warp}})
    if (value > 0)
      found.push_back({key, fmt::format("{} = {} changes channels and frames, which "
                                        "features.kind = waveform does not make: leave it out, or "
                                        "choose another kind",
                                        key, value)});
  return found;
}

Found of_steps(const Config& c) {
  const int lanes = c.trainer.lanes > 0 ? c.trainer.lanes : c.pipeline.replicas;
  Found found = contradictions({c.data.micro_batches, lanes, c.pipeline.replicas});
  if (c.trainer.init.empty() && c.trainer.init_head != "auto")
    found.push_back({"trainer.init_head",
                     "trainer.init_head says what to take of the checkpoint trainer.init, which "
                     "is empty: name one, or leave trainer.init_head out"});
  if (c.trainer.scaling != "none" && c.data.batch_seconds > 0)
    found.push_back({"trainer.scaling",
                     fmt::format("trainer.scaling = {} needs a step that data.micro_batches and "
                                 "data.micro_batch_seconds divide: set these, and leave "
                                 "data.batch_seconds out",
                                 c.trainer.scaling)});
  if (c.trainer.scaling != "none" && !c.trainer.order.empty())
    found.push_back({"trainer.scaling",
                     fmt::format("trainer.scaling = {} lets the number of micro-batches change, "
                                 "for which trainer.order cannot hold: leave one of them out",
                                 c.trainer.scaling)});
  const std::string wrong = fault_of_order(c.trainer.order, c.data.micro_batches);
  if (!wrong.empty()) found.push_back({"trainer.order", "trainer.order " + wrong});
  return found;
}

// Decoders that write texts may have labels in the place of the blank.
Found of_intermediate_losses(const Config& c) {
  const std::string& decoder = c.model.decoder;
  if (decoder == "ctc" || decoder == "rnnt" || decoder == "tdt") return {};
  layers::ModelFamily family = c.model.family;
  for (const Key& key : family.keys())
    if (key.name == "model.intermediate_ctc" && value_text(key.value) != "[]")
      return {{key.name, fmt::format("CTC after blocks is trained with model.decoder = ctc, rnnt "
                                     "or tdt, which have a blank, and not with {}: set "
                                     "model.intermediate_ctc=[]",
                                     decoder)}};
  return {};
}

Found of_early_stopping(const Config& c) {
  const TrainerConfig& t = c.trainer;
  Found found;
  if (t.early_stopping_patience == 0 || (!c.data.validation.empty() && t.validate_every >= 0))
    return found;
  const std::string none = c.data.validation.empty()
                               ? "data.validation is empty: name a manifest there"
                               : fmt::format(
                                     "trainer.validate_every = {} makes none: set 0 for "
                                     "one after each epoch",
                                     t.validate_every);
  found.push_back({"trainer.early_stopping_patience",
                   fmt::format("trainer.early_stopping_patience = {} counts validations, but {}, "
                               "or set trainer.early_stopping_patience=0",
                               t.early_stopping_patience, none)});
  return found;
}

/// Finds keys of trainer.accept that no run could change.
Found of_acceptance(const Config& c) {
  Config copy = c;
  std::vector<std::string_view> names;
  Found found;
  const std::vector<Key> all = keys(copy);
  for (const Key& key : all) names.push_back(key.name);
  for (const std::string& accepted : c.trainer.accept) {
    const auto key = std::ranges::find(all, accepted, &Key::name);
    if (key == all.end())
      found.push_back({"trainer.accept", fmt::format("trainer.accept names {}, which is no key{}",
                                                     accepted, did_you_mean(accepted, names))});
    else if (on_resume(*key) == OnResume::fixed)
      found.push_back(
          {"trainer.accept",
           fmt::format("trainer.accept names {}, which no run can change when it resumes: {}",
                       accepted, why_fixed(accepted))});
  }
  return found;
}

}  // namespace

std::int64_t fft_points(const FeatureConfig& f, std::int64_t window) {
  if (f.fft > 0) return f.fft;
  if (f.kind != "fbank" || window < 1) return window;
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(window)));
}

// Each function sees the whole configuration, so the order is only that of the messages.
std::vector<std::string> contradictions(const Config& c,
                                        const std::function<std::string(std::string_view)>& where) {
  std::vector<std::string> faults;
  for (const Found& found :
       {c.model.family.contradictions(c.model.features),
        layers::contradictions(c.model.decoder_kind(), c.model.networks), of_lora(c), of_augment(c),
        of_optimization(c), of_data(c), of_text(c), of_pipeline(c), of_features(c), of_steps(c),
        of_early_stopping(c), of_acceptance(c), of_intermediate_losses(c)})
    for (const auto& [key, what] : found) faults.push_back(fmt::format("{}: {}", where(key), what));
  return faults;
}

std::string fault_of_order(const std::vector<int>& order, int micro_batches) {
  if (order.empty()) return {};
  const auto count = static_cast<std::size_t>(micro_batches);
  if (order.size() != count)
    return fmt::format("has {}, but a step has {}", counted(order.size(), "place"),
                       counted(count, "micro-batch", "micro-batches"));
  std::vector<bool> seen(count);
  for (const int place : order) {
    if (place < 0 || place >= micro_batches)
      return fmt::format("names {}, but the micro-batches of a step are 0 to {}", place,
                         micro_batches - 1);
    if (seen[static_cast<std::size_t>(place)]) return fmt::format("names {} twice", place);
    seen[static_cast<std::size_t>(place)] = true;
  }
  return {};
}

std::vector<Contradiction> contradictions(const Shares& s) {
  std::vector<Contradiction> found;
  if (s.lanes < s.replicas)
    found.push_back(
        {"trainer.lanes", fmt::format("trainer.lanes = {} leaves some of the {} replicas "
                                      "(pipeline.replicas) without a lane",
                                      s.lanes, s.replicas)});
  if (s.micro_batches < s.lanes)
    found.push_back({"data.micro_batches",
                     fmt::format("data.micro_batches = {} is too few for {} lanes (trainer.lanes)",
                                 s.micro_batches, s.lanes)});
  return found;
}

}  // namespace penstock::configs
