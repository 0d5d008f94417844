#include "runtime/checkpoint/resume/corrections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/flatten.h"
#include "configs/rules.h"
#include "configs/value.h"
#include "runtime/checkpoint/resume/resume.h"
#include "runtime/checkpoint/resume/saved_tokenizer.h"

namespace penstock::runtime {
namespace {

constexpr std::string_view kMicroBatches = "data.micro_batches";

/// Returns true if trainer.accept names the key.
bool is_listed(const configs::Config& config, std::string_view key) {
  const std::vector<std::string>& accepted = config.trainer.accept;
  return std::ranges::find(accepted, key) != accepted.end();
}

bool in_section(const Correction& change, std::string_view section) {
  return change.key.starts_with(section);
}

/// Differences between the recipe and the checkpoint's, by whether they are allowed.
struct Changes {
  std::vector<Correction> accepted;
  std::vector<std::string> refused;  // keys that trainer.accept does not name
  std::string listed, fixed;         // message lines of `refused`, and of fixed keys
};

Changes changes_of(const configs::Config& config, const TrainingState& saved) {
  Changes changes;
  for (const configs::Difference& d : configs::differences(saved_recipe(config, saved), config)) {
    if (d.on_resume == configs::OnResume::free) continue;
    const std::string line = fmt::format("\n  {}: was {}, is now {}", d.key, d.before, d.after);
    if (d.on_resume == configs::OnResume::fixed) {
      changes.fixed += fmt::format("{} ({})", line, configs::why_fixed(d.key));
    } else if (accepts(config, d.key)) {
      changes.accepted.push_back({saved.step, d.key, d.before, d.after});
    } else {
      changes.refused.push_back(d.key);
      changes.listed += line;
    }
  }
  if (const std::string change = tokenizer_change(config.text, saved); !change.empty())
    changes.fixed +=
        fmt::format("\n  text.model: {} ({})", change, configs::why_fixed("text.model"));
  return changes;
}

/// Adds trainer.order if it differs from the checkpoint's.
void add_order(const configs::Config& config, const TrainingState& saved,
               std::vector<Correction>& changes) {
  std::vector<int> now = choose_order(config, &saved);
  std::vector<int> before = saved_recipe(config, saved).trainer.order;
  if (now == before) return;
  changes.push_back(
      {saved.step, "trainer.order", configs::value_text(&before), configs::value_text(&now)});
}

/// Returns the weights of the manifests. A single manifest has none, since its weight has no
/// effect.
std::vector<double> weights_of(const std::vector<WeightedManifest>& manifests) {
  std::vector<double> weights;
  if (manifests.size() > 1)
    for (const WeightedManifest& item : manifests) weights.push_back(item.weight);
  return weights;
}

bool divides_by_itself(const configs::Config& config) {
  configs::Config divided = config;
  return config.pipeline.plan.empty() && configs::divide_step(divided, {}).empty() &&
         divided.data.micro_batches == config.data.micro_batches &&
         divided.data.micro_batch_seconds == config.data.micro_batch_seconds;
}

}  // namespace

bool accepts(const configs::Config& config, std::string_view key) {
  return is_listed(config, key) || (config.trainer.scaling != "none" && key == kMicroBatches);
}

bool accepts_division(const configs::Config& config) {
  return accepts(config, kMicroBatches) || accepts(config, "data.micro_batch_seconds");
}

std::string accepting_line(const configs::Config& config, const std::vector<std::string>& keys) {
  std::vector<std::string> all = config.trainer.accept;
  for (const std::string& key : keys)
    if (!accepts(config, key)) all.push_back(key);
  return fmt::format("trainer.accept = [\"{}\"]", fmt::join(all, "\", \""));
}

void keep_division(configs::Config& config, const TrainingState& saved,
                   const std::function<void(const std::string&)>& note) {
  configs::DataConfig& data = config.data;
  if (!(data.batch_seconds > 0) || accepts_division(config) || !divides_by_itself(config)) return;
  const configs::DataConfig before = saved_recipe(config, saved).data;
  const bool same = before.micro_batches == data.micro_batches &&
                    before.micro_batch_seconds == data.micro_batch_seconds;
  const int lanes = choose_lanes(config, &saved, [](const std::string&) {});
  if (same || before.micro_batches < lanes ||
      !configs::holds_step(data.batch_seconds, before.micro_batch_seconds, before.micro_batches))
    return;
  note(
      fmt::format("the step of data.batch_seconds = {:g} stays divided as up to the checkpoint, "
                  "into {} of {:g} "
                  "s: a new run would have {} of {:g} s",
                  data.batch_seconds, counted(before.micro_batches, "micro-batch", "micro-batches"),
                  before.micro_batch_seconds, data.micro_batches, data.micro_batch_seconds));
  data.micro_batches = before.micro_batches;
  data.micro_batch_seconds = before.micro_batch_seconds;
}

std::vector<Correction> accepted_changes(const configs::Config& config,
                                         const TrainingState& saved) {
  Changes changes = changes_of(config, saved);
  std::string message;
  if (!changes.refused.empty())
    message += fmt::format(
        "a run that resumes keeps what it began with, but these keys differ from the "
        "checkpoint's:{}\nSet them back, start anew in another trainer.output, or accept the "
        "changes with the line\n  {}",
        changes.listed, accepting_line(config, changes.refused));
  if (!changes.fixed.empty())
    message += fmt::format(
        "{}no run can change these keys when it resumes:{}\nSet them back, or start anew in "
        "another "
        "trainer.output; trainer.init takes the weights from this one where they fit.",
        message.empty() ? "" : "\n", changes.fixed);
  if (!message.empty()) throw ConfigError(message);
  add_order(config, saved, changes.accepted);
  return std::move(changes.accepted);
}

std::vector<Correction> corpus_changes(const configs::Config& config, const TrainingState& saved,
                                       const std::string& hash,
                                       const std::vector<Correction>& changes) {
  std::vector<WeightedManifest> before = saved_recipe(config, saved).data.train;
  std::vector<WeightedManifest> now = config.data.train;
  const bool other_weights = weights_of(now) != weights_of(before);
  const bool other_utterances = hash != saved.corpus_hash;
  if (!other_utterances && !other_weights) return {};
  const bool follows = std::ranges::any_of(changes, [](const Correction& change) {
    return in_section(change, "data.") || in_section(change, "features.") ||
           in_section(change, "text.") || in_section(change, "decoder.languages");
  });
  const std::string accepting = accepting_line(config, {"data.train"});
  if (other_weights && !accepts(config, "data.train"))
    throw ConfigError(fmt::format(
        "data.train has other manifests or weights than when the checkpoint was saved:\n  was {}\n"
        "  is now {}\nSet them back, start anew in another trainer.output, or accept the change "
        "with the line\n  {}",
        configs::value_text(&before), configs::value_text(&now), accepting));
  if (!follows && !accepts(config, "data.train"))
    throw ConfigError(fmt::format(
        "data.train holds other utterances, texts or lengths than when the checkpoint was saved "
        "(index {}, was {}): restore the manifest, start anew in another trainer.output, or accept "
        "the change with the line\n  {}",
        hash, saved.corpus_hash, accepting));
  return {{saved.step, "data.train",
           fmt::format("{} (index {})", configs::value_text(&before), saved.corpus_hash),
           fmt::format("{} (index {})", configs::value_text(&now), hash)}};
}

std::vector<Correction> sound_changes(const configs::Config& config, const TrainingState& saved,
                                      const std::map<std::string, std::string>& hashes) {
  const configs::AugmentConfig before = saved_recipe(config, saved).augment;
  const configs::AugmentConfig& now = config.augment;
  const auto hash_in = [](const auto& all, const std::string& key) {
    const auto found = all.find(key);
    return found == all.end() ? std::string("none") : "index " + found->second;
  };
  std::vector<Correction> changes;
  std::vector<std::string> refused, described;
  for (const auto& [key, was, is] :
       {std::tuple<std::string, std::string, std::string>{"augment.rooms", before.rooms, now.rooms},
        {"augment.noise", before.noise, now.noise}}) {
    const std::string old_hash = hash_in(saved.sound_hashes, key), hash = hash_in(hashes, key);
    if (old_hash == hash) continue;
    if (!accepts(config, key)) {
      refused.push_back(key);
      described.push_back(fmt::format("{} ({}, was {})", key, hash, old_hash));
    }
    changes.push_back({saved.step, key, fmt::format("\"{}\" ({})", was, old_hash),
                       fmt::format("\"{}\" ({})", is, hash)});
  }
  if (refused.empty()) return changes;
  throw ConfigError(fmt::format(
      "other recordings than when the checkpoint was saved: {}. Restore the manifest or the key, "
      "start anew in another trainer.output, or accept the change with the line\n  {}",
      fmt::join(described, ", "), accepting_line(config, refused)));
}

// Micro-batches of an epoch do not depend on how many a step takes. So if nothing but their number
// changes, the run goes on with the next one.
DataOrigin data_origin(const TrainingState& saved, const std::vector<Correction>& changes) {
  const Correction* number = nullptr;
  bool other_micro_batches = false;
  for (const Correction& change : changes) {
    if (change.key == kMicroBatches)
      number = &change;
    else if (in_section(change, "data.") || in_section(change, "features.") ||
             change.key == "trainer.seed")
      other_micro_batches = true;
  }
  const DataOrigin& before = saved.data_origin;
  const std::int64_t used = before.epoch == saved.epoch ? before.micro_batch : 0;
  if (other_micro_batches) {
    const bool begun = used > 0 || saved.step_in_epoch > 0;
    return {saved.step, saved.epoch + (begun ? 1 : 0)};
  }
  if (number == nullptr) return before;
  return {saved.step, saved.epoch, used + saved.step_in_epoch * std::stoll(number->before)};
}

DataOrigin settle_data(const configs::Config& config, const TrainingState& saved,
                       std::uint64_t hash, std::vector<Correction>& changes) {
  const auto more = corpus_changes(config, saved, fmt::format("{}", hash), changes);
  changes.insert(changes.end(), more.begin(), more.end());
  return data_origin(saved, changes);
}

std::string describe(const Correction& change, const configs::Config& config) {
  const bool scales = change.key == kMicroBatches && !is_listed(config, change.key);
  return fmt::format("from step {} on, {} = {}, which was {} ({})", change.step, change.key,
                     change.after, change.before, scales ? "trainer.scaling" : "trainer.accept");
}

}  // namespace penstock::runtime
