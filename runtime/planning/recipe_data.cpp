#include "runtime/planning/recipe_data.h"

#include <algorithm>
#include <utility>

#include "partition/planner/plan/plan.h"
#include "runtime/corpus/corpora.h"
#include "runtime/data/batch/batching.h"
#include "runtime/data/batch/extent.h"
#include "runtime/planning/with_candidate.h"

namespace penstock::runtime {
namespace {

constexpr std::int64_t kSampled = 3;     // steps per sample
constexpr std::int64_t kLookedAt = 100;  // steps that bound the others, if an epoch is one step

}  // namespace

RecipeData::RecipeData(configs::Config config, const partition::LayerSequence& sequence)
    : config_(std::move(config)), sequence_(sequence) {
  tokenizer_ = make_tokenizer(config_.text);
  labels_ = tokenizer_->labels();
  training_ = planned_corpus(config_, sequence, *tokenizer_, CorpusUse::training);
  labels_per_second_ = training_.labels_per_second();
  validation_ = planned_validation(config_, sequence, *tokenizer_);
}

double RecipeData::longest() const {
  double longest = 0;
  for (std::size_t id = 0; id < training_.size(); ++id)
    longest = std::max(longest, training_.lengths[id].seconds());
  return longest / std::ranges::min(config_.data.speeds);
}

double RecipeData::epoch_seconds() const {
  double slowness = 0;
  for (const double speed : config_.data.speeds) slowness += 1 / speed;
  return training_.seconds() * slowness / static_cast<double>(config_.data.speeds.size());
}

StepSequence RecipeData::steps(const configs::Config& config) const {
  const int lanes = config.trainer.lanes == 0 ? config.pipeline.replicas : config.trainer.lanes;
  return StepSequence({training_.lengths,
                       config.data,
                       config.features,
                       config.trainer.seed,
                       lanes,
                       config.trainer.order,
                       {},
                       training_.mixture,
                       training_.most_labels,
                       labels_per_second_});
}

const std::vector<partition::SampledStep>& RecipeData::sample(const partition::BatchDivision& batch,
                                                              int replicas, int first_steps) {
  const std::lock_guard lock(mutex_);
  const std::pair key{batch, replicas};
  if (const auto known = samples_.find(key); known != samples_.end()) return known->second;
  return samples_.emplace(key, make_sample(batch, replicas, first_steps)).first->second;
}

bool RecipeData::is_less_than_a_step(const configs::Config& config) const {
  return epoch_seconds() < config.data.micro_batch_seconds * config.data.micro_batches;
}

const RunShape& RecipeData::bounds(const configs::Config& config) {
  const std::lock_guard lock(mutex_);
  const bool one_step = is_less_than_a_step(config);
  const partition::BatchDivision batch{.seconds = config.data.micro_batch_seconds,
                                       .micro_batches = config.data.micro_batches};
  const std::pair key{batch, one_step ? config.pipeline.replicas : 0};
  if (const auto known = bounds_.find(key); known != bounds_.end()) return known->second;
  RunShape shape;
  shape.labels = labels_;
  const StepSequence sequence = steps(config);
  shape.training = one_step && config.trainer.scaling == "none"
                       ? extent_of(sequence, std::min(config.trainer.steps, kLookedAt))
                       : greatest_extent(sequence.options());
  const auto& [validated, most_labels, not_counted] = validation_;
  if (!validated.empty())
    shape.validation =
        extent_of(evaluation_batches(validated, config.data, config.features), most_labels);
  return bounds_.emplace(key, std::move(shape)).first->second;
}

std::vector<partition::SampledStep> RecipeData::make_sample(const partition::BatchDivision& batch,
                                                            int replicas, int first_steps) const {
  configs::Config config =
      with_candidate(config_, sequence_, {.replicas = replicas, .batch = batch});
  config.data.short_first = 0;  // a sample is of steps like those of the whole training
  const StepSequence sequence = steps(config);
  const int lanes = sequence.options().lanes;
  std::vector<int> replica_of;
  const auto owned = partition::deal_lanes(lanes, replicas);
  for (int replica = 0; replica < replicas; ++replica)
    replica_of.insert(replica_of.end(), owned[replica], replica);
  const std::int64_t count = std::max<std::int64_t>(1, sequence.steps_in_epoch(0) - 1);
  std::vector<partition::SampledStep> sampled;
  for (std::int64_t step = 0; step < first_steps; ++step)
    sampled.push_back(sampled_step(sequence.at(step), replica_of));
  if (first_steps > 0) return sampled;
  for (std::int64_t i = 0; i < std::min(kSampled, count); ++i)
    sampled.push_back(sampled_step(
        sequence.at((2 * i + 1) * count / (2 * std::min(kSampled, count))), replica_of));
  return sampled;
}

partition::SampledStep RecipeData::sampled_step(const StepBatches& batches,
                                                const std::vector<int>& replica_of) const {
  partition::SampledStep step;
  for (std::size_t i = 0; i < batches.micro_batches.size(); ++i) {
    partition::MicroBatchLengths& lengths = step.micro_batches.emplace_back();
    for (const BatchUtterance& utterance : batches.micro_batches[i].utterances) {
      lengths.frames.push_back(utterance.frames);
      lengths.labels.push_back(std::ssize(training_.labels(utterance.id)));
      step.audio_seconds += static_cast<double>(utterance.samples) / config_.features.sample_rate;
    }
    step.replica.push_back(replica_of.at(batches.lanes[i]));
  }
  return step;
}

}  // namespace penstock::runtime
