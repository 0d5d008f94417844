#include "configs/rules.h"

#include <cmath>

#include "base/error.h"
#include "configs/alphabet.h"
#include "configs/value.h"

namespace penstock::configs {
namespace {

/// What is wrong with [text], or nothing.
std::string fault_of(const TextConfig& text) try {
  alphabet_characters(text);
  return {};
} catch (const ConfigError& error) {
  return error.what();
}

using Found = std::vector<Contradiction>;

Found of_optimization(const Config& c) {
  Found found;
  const auto& s = c.lr_schedule;
  const bool falls = s.kind == "cosine" || s.kind == "polynomial";
  if (falls && s.total_steps <= s.warmup)
    found.push_back({s.total_steps > 0 ? "lr_schedule.total_steps" : "lr_schedule.kind",
                     "lr_schedule.kind = " + s.kind +
                         " ends at lr_schedule.total_steps, which is " +
                         std::to_string(s.total_steps) + " and must be above lr_schedule.warmup (" +
                         std::to_string(s.warmup) + ")"});
  if (c.optimizer.larc > 0 && c.optimizer.kind != "sgd")
    found.push_back({"optimizer.larc", "optimizer.larc goes with optimizer.kind = sgd, not with " +
                                           c.optimizer.kind + ", which has no use for it"});
  double min_lr = s.min_lr, peak = c.optimizer.learning_rate;
  if (falls && min_lr > peak)
    found.push_back(
        {"lr_schedule.min_lr", "lr_schedule.min_lr = " + value_text(&min_lr) +
                                   " is above optimizer.learning_rate = " + value_text(&peak) +
                                   ", from which lr_schedule.kind = " + s.kind + " falls to it"});
  return found;
}

Found of_data(const Config& c) {
  Found found;
  if (c.data.max_seconds > 0 && c.data.min_seconds >= c.data.max_seconds)
    found.push_back(
        {"data.min_seconds",
         "data.min_seconds is not below data.max_seconds: no utterance fits between them"});
  if (const std::string wrong = fault_of(c.text); !wrong.empty())
    found.push_back({"text.alphabet", wrong});
  return found;
}

Found of_pipeline(const Config& c) {
  Found found;
  const auto& p = c.pipeline;
  if (p.recompute == "layers" && p.recompute_layers.empty())
    found.push_back(
        {"pipeline.recompute",
         "pipeline.recompute = layers needs pipeline.recompute_layers, the names of the layers"});
  if (p.recompute != "layers" && !p.recompute_layers.empty())
    found.push_back({"pipeline.recompute_layers",
                     "pipeline.recompute_layers goes with pipeline.recompute = layers, not with " +
                         p.recompute + ": set that, or leave the list out"});
  if (p.post_validation &&
      (c.optimizer.kind == "lamb" || c.optimizer.kind == "novograd" || c.optimizer.larc > 0))
    found.push_back({"pipeline.post_validation",
                     "pipeline.post_validation goes with optimizer.kind = adamw, or sgd without "
                     "optimizer.larc: other optimizers wait for norms before they update"});
  if (p.post_validation && c.precision.compute == "fp16" && c.precision.loss_scaling == "logmax")
    found.push_back({"pipeline.post_validation",
                     "pipeline.post_validation goes with precision.loss_scaling = backoff or "
                     "static: logmax needs every gradient's size before the next step"});
  return found;
}

Found of_features(const Config& c) {
  Found found;
  const auto& f = c.features;
  const auto window = static_cast<std::int64_t>(std::llround(f.sample_rate * f.window_ms / 1000));
  if (f.fft > 0 && f.fft < window)
    found.push_back({"features.fft", "features.fft = " + std::to_string(f.fft) +
                                         " is below the window's " + std::to_string(window) +
                                         " samples"});
  const std::int64_t bins = (f.fft > 0 ? f.fft : window) / 2 + 1;
  if (f.kind == "log-mel" && f.mels > bins)
    found.push_back({"features.mels", "features.mels = " + std::to_string(f.mels) +
                                          " is above the " + std::to_string(bins) +
                                          " bins of the spectrum: some channels would hear "
                                          "nothing"});
  return found;
}

Found of_steps(const Config& c) {
  const int lanes = c.trainer.lanes > 0 ? c.trainer.lanes : c.pipeline.replicas;
  Found found = contradictions({c.data.micro_batches, lanes, c.pipeline.replicas});
  const std::string wrong = fault_of_order(c.trainer.order, c.data.micro_batches);
  if (!wrong.empty()) found.push_back({"trainer.order", "trainer.order " + wrong});
  return found;
}

}  // namespace

std::vector<std::string> contradictions(const Config& c,
                                        const std::function<std::string(std::string_view)>& where) {
  std::vector<std::string> faults;
  for (const Found& found : {c.model.family.contradictions(c.model.features), of_optimization(c),
                             of_data(c), of_pipeline(c), of_features(c), of_steps(c)})
    for (const auto& [key, what] : found) faults.push_back(where(key) + ": " + what);
  return faults;
}

std::string fault_of_order(const std::vector<int>& order, int micro_batches) {
  if (order.empty()) return {};
  const auto count = static_cast<std::size_t>(micro_batches);
  if (order.size() != count)
    return "has " + std::to_string(order.size()) + " places, but a step has " +
           std::to_string(micro_batches) + " micro-batches";
  std::vector<bool> seen(count);
  for (const int place : order) {
    if (place < 0 || place >= micro_batches)
      return "names " + std::to_string(place) + ", but the micro-batches of a step are 0 to " +
             std::to_string(micro_batches - 1);
    if (seen[static_cast<std::size_t>(place)]) return "names " + std::to_string(place) + " twice";
    seen[static_cast<std::size_t>(place)] = true;
  }
  return {};
}

std::vector<Contradiction> contradictions(const Shares& s) {
  std::vector<Contradiction> found;
  if (s.lanes < s.replicas)
    found.push_back({"trainer.lanes", "trainer.lanes = " + std::to_string(s.lanes) +
                                          " leaves some of the " + std::to_string(s.replicas) +
                                          " replicas (pipeline.replicas) without a lane"});
  if (s.micro_batches < s.lanes)
    found.push_back({"data.micro_batches",
                     "data.micro_batches = " + std::to_string(s.micro_batches) +
                         " is too few for " + std::to_string(s.lanes) + " lanes (trainer.lanes)"});
  return found;
}

}  // namespace penstock::configs
