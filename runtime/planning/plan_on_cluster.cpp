#include "runtime/planning/plan_on_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "base/gib.h"
#include "configs/flatten.h"
#include "configs/schema.h"
#include "configs/value.h"
#include "partition/choose/find_choice.h"
#include "partition/choose/rank_choices.h"
#include "partition/model/build_model.h"
#include "partition/model/recomputed_layers.h"
#include "partition/model/trained_model.h"
#include "partition/placement/problem.h"
#include "partition/plan/planner.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/checkpoint/corrections.h"
#include "runtime/checkpoint/resume.h"
#include "runtime/checkpoint/saved_tokenizer.h"
#include "runtime/corpus/corpora.h"
#include "runtime/corpus/planned_corpus.h"
#include "runtime/data/batching.h"
#include "runtime/data/steps.h"
#include "runtime/pipeline/bucket_bytes.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

constexpr std::int64_t kSampled = 3;  // steps
constexpr int kMostPerDevice = 8;     // micro-batches, where their number is free

configs::Config with_choice(configs::Config config, const partition::LayerSequence& sequence,
                            const partition::PlanChoice& choice) {
  config.data.micro_batch_seconds = choice.batch.seconds;
  config.data.micro_batches = choice.batch.micro_batches;
  config.trainer.order = choice.batch.order;
  config.pipeline.plan.clear();
  config.pipeline.stages = choice.stages;
  config.pipeline.replicas = choice.replicas;
  config.pipeline.schedule = choice.schedule;
  config.pipeline.resident = choice.resident;
  config.pipeline.shard_optimizer = choice.shards_optimizer;
  partition::set_recomputation(config.pipeline, {choice.selective, choice.recomputed},
                               partition::names_of(sequence));
  return config;
}

/// With buckets for the cluster's slowest link, unless the recipe says how large they are.
configs::Config with_buckets(configs::Config config, const partition::LinkRates& slowest) {
  config.pipeline.bucket_bytes = bucket_bytes(config.pipeline, slowest);
  return config;
}

/// Of a ring of all devices.
partition::LinkRates slowest_link(const partition::Cluster& cluster) {
  std::vector<int> devices(static_cast<std::size_t>(cluster.size()));
  std::iota(devices.begin(), devices.end(), 0);
  return partition::slowest_of_ring(cluster, devices);
}

/// The recipe's utterances as steps of any batch choice.
class RecipeData {
 public:
  RecipeData(configs::Config config, const partition::LayerSequence& sequence)
      : config_(std::move(config)), sequence_(sequence) {
    tokenizer_ = make_tokenizer(config_.text);
    labels_ = tokenizer_->labels();
    training_ = planned_corpus(config_, sequence, *tokenizer_, CorpusUse::training);
    validation_ = planned_validation(config_, sequence, *tokenizer_);
  }

  int labels() const { return labels_; }
  const PlannedValidation& validation() const { return validation_; }
  /// Of the slowest speed's longest utterance, in seconds.
  double longest() const {
    double longest = 0;
    for (std::size_t id = 0; id < training_.size(); ++id)
      longest = std::max(longest, training_.lengths[id].seconds());
    return longest / std::ranges::min(config_.data.speeds);
  }

  double epoch_seconds() const {
    double slowness = 0;
    for (const double speed : config_.data.speeds) slowness += 1 / speed;
    return training_.seconds() * slowness / static_cast<double>(config_.data.speeds.size());
  }

  StepSequence steps(const configs::Config& config) const {
    const int lanes = config.trainer.lanes == 0 ? config.pipeline.replicas : config.trainer.lanes;
    return StepSequence({training_.lengths, config.data, config.features, config.trainer.seed,
                         lanes, config.trainer.order});
  }

  /// The first steps, or some of the first epoch's, evenly apart; of those that are whole, if any
  /// is.
  const std::vector<partition::SampledStep>& sample(const partition::BatchChoice& batch,
                                                    int replicas, int first_steps) {
    auto& sampled = samples_[{batch, replicas}];
    if (sampled.empty()) sampled = make_sample(batch, replicas, first_steps);
    return sampled;
  }

  /// For the search: bounds of any step in any epoch, which take no look at them.
  const RunShape& bounds(const configs::Config& config) {
    const auto [at, fresh] = bounds_.try_emplace(
        {.seconds = config.data.micro_batch_seconds, .micro_batches = config.data.micro_batches});
    RunShape& shape = at->second;
    if (!fresh) return shape;
    shape.labels = labels_;
    shape.training = greatest_extent(steps(config).options());
    const Lengths& validated = validation_.lengths;
    if (!validated.empty())
      shape.validation = extent_of(evaluation_batches(validated, config.data, config.features));
    return shape;
  }

 private:
  std::vector<partition::SampledStep> make_sample(const partition::BatchChoice& batch, int replicas,
                                                  int first_steps) const {
    const configs::Config config =
        with_choice(config_, sequence_, {.replicas = replicas, .batch = batch});
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

  partition::SampledStep sampled_step(const StepBatches& batches,
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

  configs::Config config_;
  const partition::LayerSequence& sequence_;
  int labels_ = 0;
  std::unique_ptr<const Tokenizer> tokenizer_;
  Corpus training_;
  PlannedValidation validation_;
  std::map<partition::BatchChoice, RunShape> bounds_;
  std::map<std::pair<partition::BatchChoice, int>, std::vector<partition::SampledStep>> samples_;
};

/// What the executor runs, the one that wins a tie first; but for found, which is sought for the
/// best of the others, and in place of which, if it is requested, they have those that it comes
/// from.
std::vector<std::string> trained_schedules(const configs::Config& config,
                                           const std::string& requested) {
  configs::Config any = config;
  const auto key = configs::find_key(any, "pipeline.schedule");
  if (!requested.empty()) {
    if (const auto wrong = configs::set_value(*key, requested)) throw ConfigError(*wrong);
    if (partition::is_schedule_file(requested))
      throw ConfigError(fmt::format(
          "{}: lists of a file are for the stages and micro-batches that they name, and "
          "can't be chosen for: plan the recipe without --cluster",
          requested));
    if (requested == partition::kFound)  // one chunk a stage or two; some hold less
      return {"zb-h1", "1f1b", "zb-v", "v-half", "v-min"};
    return {requested};
  }
  std::vector<std::string> names(key->allowed.choices.begin(), key->allowed.choices.end());
  std::erase_if(names, [](const auto& name) {
    return name == partition::kFound || name.find('*') != name.npos;  // of files, or of any chunks
  });
  std::ranges::stable_partition(names, [](const auto& name) { return name == "1f1b"; });
  return names;
}

partition::Cluster limited(partition::Cluster cluster, double memory_gib) {
  if (memory_gib > 0)
    for (partition::Device& device : cluster.devices)
      device.memory = std::min(device.memory, memory_gib * kGib / (1 - cluster.margin));
  return cluster;
}

/// With that recomputation; null where it is within layers, and no layer has anything to remake.
std::unique_ptr<partition::LayerSequence> sequence_of(configs::Config recipe,
                                                      const char* recompute) {
  recipe.pipeline.recompute = recompute;
  auto sequence = std::make_unique<partition::LayerSequence>(
      partition::build_trained_model(recipe, make_tokenizer(recipe.text)->labels()));
  const bool remakes =
      recompute != partition::kSelective || partition::remakes(*sequence, backend_sizes(recipe));
  return remakes ? std::move(sequence) : nullptr;
}

/// The recipe with what a run that goes on must keep.
configs::Config kept(configs::Config recipe, const TrainingState& saved) {
  const configs::Config before = saved_recipe(recipe, saved);
  const bool divides_anew =
      accepts(recipe, "data.micro_batches") || accepts(recipe, "data.micro_batch_seconds");
  if (!divides_anew) {
    recipe.data.micro_batch_seconds = before.data.micro_batch_seconds;
    recipe.data.micro_batches = before.data.micro_batches;
    recipe.data.batch_seconds = before.data.batch_seconds;
  }
  recipe.trainer.lanes = saved.lanes;
  recipe.trainer.order = choose_order(recipe, &saved);
  return recipe;
}

std::vector<partition::BatchChoice> choices_of(const configs::Config& recipe,
                                               const RecipeData& data,
                                               const ClusterConstraints& constraints, int devices) {
  const partition::BatchChoice given{recipe.data.micro_batch_seconds, recipe.data.micro_batches,
                                     recipe.trainer.order};
  const bool kept = !constraints.free_batch || !recipe.trainer.order.empty();
  if (kept && constraints.micro_batches > 0)
    throw ConfigError(fmt::format(
        "--micro-batches {} can't change a step: it keeps its {}, set by trainer.order or by the "
        "checkpoint that trainer.resume goes on from. Leave --micro-batches out, or start anew "
        "without them.",
        constraints.micro_batches, counted(given.micro_batches, "micro-batch", "micro-batches")));
  if (kept) return {given};
  if (constraints.micro_batches > 0)
    return {{given.seconds * given.micro_batches / constraints.micro_batches,
             constraints.micro_batches}};
  auto choices = batch_choices(recipe.data, data.longest(), kMostPerDevice * devices);
  std::erase_if(choices, [&](const partition::BatchChoice& choice) {
    return choice.micro_batches < std::max(recipe.trainer.lanes, constraints.replicas);
  });
  return choices.empty() ? std::vector<partition::BatchChoice>{given} : choices;
}

/// Of every kind of device, or by default rates.
std::string computed_from(const std::vector<partition::RatedDevice>& rated,
                          const layers::BackendSizes& sizes) {
  std::map<std::string, std::string> kinds;  // by their source
  for (const partition::RatedDevice& device : rated) {
    std::string& names = kinds[device.source];
    names += (names.empty() ? "" : " and ") + device.name;
  }
  std::vector<std::string> known;
  for (const auto& [source, names] : kinds) known.push_back(fmt::format("{} ({})", names, source));
  if (!known.empty())
    return fmt::format("computed from rates of {}, not measured", fmt::join(known, ", of "));
  return sizes.device == layers::DeviceKind::cpu
             ? "computed from default rates of a CPU core, not measured; for GPUs name their "
               "device in the cluster file"
             : "computed from rates of an H100, not measured: the cluster file names no device";
}

/// The same as they were measured. ConfigError unless they were for such a recipe.
void set_costs(partition::PlanningProblem& problem, const partition::DeviceProfile& measured,
               const configs::Config& recipe, int labels) {
  partition::check_profile(measured, {.model = partition::model_summary(recipe.model, labels),
                                      .compute = recipe.precision.compute,
                                      .layers = partition::names_of(*problem.sequence)});
  problem.costs =
      partition::fitted_cost_model(partition::trained_costs(measured, *problem.sequence));
  problem.costs_from = fmt::format("measured on {}", measured.device);
  problem.reading = measured.reading;
  problem.step_s = measured.step_s;
  problem.parameter_s = measured.parameter_s;
}

ComputedCosts computed_costs(const ClusterPlan& planned) {
  return {planned.sequence.get(), planned.remaking.get(), planned.problem.sizes};
}

/// Measured ones where there are some, else computed.
void set_costs(ClusterPlan& planned, const ClusterConstraints& constraints,
               const configs::Config& recipe, int labels) {
  partition::PlanningProblem& problem = planned.problem;
  if (!constraints.costs) {
    computed_costs(planned).set(problem, planned.rated.empty()
                                             ? partition::default_rates(problem.sizes)
                                             : planned.rated.front().rates(problem.sizes));
    problem.costs_from = computed_from(planned.rated, problem.sizes);
    return;
  }
  set_costs(problem, *constraints.costs, recipe, labels);
  if (planned.remaking)
    problem.selective_costs =
        partition::with_remaking(problem.costs, *planned.remaking, problem.sizes);
}

/// Whose layers run where that is chosen.
const partition::LayerSequence& sequence_for(const ClusterPlan& planned,
                                             const partition::PlanChoice& choice) {
  return choice.selective && planned.remaking ? *planned.remaking : *planned.sequence;
}

/// What the recipe says, unless that is the default.
std::optional<partition::ChosenLayers> fixed_recomputation(
    const configs::Config& recipe, const partition::LayerSequence& sequence) {
  if (recipe.pipeline.recompute == configs::PipelineConfig().recompute) return std::nullopt;
  return partition::recomputed_layers(recipe.pipeline, sequence);
}

/// The same of what stays on the devices.
std::optional<int> fixed_offload(const configs::Config& recipe) {
  return recipe.pipeline.resident > 0 ? std::optional(recipe.pipeline.resident) : std::nullopt;
}

/// The same of the optimizer.
std::optional<bool> fixed_sharding(const configs::Config& recipe) {
  return recipe.pipeline.shard_optimizer ? std::optional(true) : std::nullopt;
}

/// [stage][replica]: ranks in the order of the cluster's devices.
std::vector<std::vector<int>> ranks_of(const std::vector<std::vector<int>>& devices) {
  std::vector<int> used;
  for (const auto& stage : devices) used.insert(used.end(), stage.begin(), stage.end());
  std::ranges::sort(used);
  auto ranks = devices;
  for (auto& stage : ranks)
    for (int& device : stage)
      device = static_cast<int>(std::ranges::lower_bound(used, device) - used.begin());
  return ranks;
}

/// A choice as a plan, with the memory that the run itself will count.
partition::Plan plan_of(const ClusterPlan& planned, const partition::PlanChoice& choice,
                        const RecipeData& data) {
  const partition::LayerSequence& sequence = sequence_for(planned, choice);
  const configs::Config config = with_choice(planned.recipe, sequence, choice);
  const StepSequence steps = data.steps(config);
  const RunShape shape = shape_of_run(config, steps, data.validation().lengths, data.labels());
  partition::PlanRequest request;
  request.model = planned_model(sequence, config.model, data.labels()).summary;
  const partition::CostModel& costs =
      choice.selective ? planned.problem.selective_costs : planned.problem.costs;
  request.costs = costs({.frames = shape.micro_batches.at(shape.micro_batches.size() / 2)});
  request.bytes =
      bytes_of_run(sequence, config, shape, partition::schedule_of(choice), DeviceMessages::nccl);
  request.pipeline = config.pipeline;
  request.micro_batch_seconds = config.data.micro_batch_seconds;
  partition::Plan plan{.model = request.model,
                       .schedule = choice.schedule,
                       .micro_batches = choice.batch.micro_batches,
                       .lanes = steps.options().lanes,
                       .order = choice.batch.order,
                       .actions = choice.actions,
                       .bucket_bytes = choice.replicas > 1 ? config.pipeline.bucket_bytes : 0,
                       .ranks = ranks_of(choice.devices)};
  const auto stages = partition::ranks_of_chunks(choice);
  for (std::size_t chunk = 0; chunk < stages.size(); ++chunk) {
    partition::ChunkPlan& part =
        plan.chunks.emplace_back(partition::ChunkPlan{stages[chunk], choice.begin[chunk]});
    for (int layer = choice.begin[chunk]; layer < choice.begin[chunk + 1]; ++layer)
      part.layers.push_back(sequence.layers[layer]->name());
  }
  return partition::with_estimates(sequence, request, std::move(plan));
}

/// What to plan, without its costs, step and bytes.
partition::PlanningProblem problem_of(const ClusterPlan& planned, const configs::Config& recipe,
                                      RecipeData& data, const partition::Cluster& cluster,
                                      const ClusterConstraints& constraints) {
  return {.sequence = planned.sequence.get(),
          .sizes = backend_sizes(recipe),
          .not_counted = data.validation().not_counted,
          .cluster = limited(cluster, recipe.pipeline.memory_gib),
          .batches = choices_of(recipe, data, constraints, cluster.size()),
          .schedules = trained_schedules(recipe, constraints.schedule),
          .recomputed = fixed_recomputation(recipe, *planned.sequence),
          .selective = planned.remaking && recipe.pipeline.recompute == partition::kSelective,
          .resident = fixed_offload(recipe),
          .shards_optimizer = fixed_sharding(recipe),
          .adds_whole_gradients = recipe.pipeline.reduction == "nccl",
          .stages = constraints.stages,
          .replicas = constraints.replicas,
          .most_replicas = recipe.trainer.lanes,
          .finds = constraints.schedule.empty() || constraints.schedule == partition::kFound,
          .finds_only = constraints.schedule == partition::kFound,
          .barrier = recipe.pipeline.post_validation ? partition::Barrier::none
                                                     : partition::Barrier::before_step,
          .seed = constraints.seed,
          .time = constraints.time};
}

/// By what the kinds of device take for that step.
RatedKinds set_speeds(ClusterPlan& planned, const partition::SampledStep& step) {
  RatedKinds kinds{planned.rated, step.micro_batches};
  partition::Cluster& cluster = planned.problem.cluster;
  const std::vector<double> speeds = kinds.speeds(
      cluster, computed_costs(planned),
      [&](const partition::RatedDevice& device) { return device.rates(planned.problem.sizes); });
  for (std::size_t device = 0; device < speeds.size(); ++device)
    cluster.devices[device].speed = speeds[device];
  return kinds;
}

/// The decision, how far it may be believed, and what one change would bring.
void choose(ClusterPlan& planned, const partition::PlanningProblem& problem,
            const ClusterConstraints& constraints, const RatedKinds& kinds) {
  const auto begin = std::chrono::steady_clock::now();
  planned.decision = partition::decide(problem);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  planned.search_ended = constraints.time != nullptr && constraints.time->ended_a_search();
  if (constraints.believes && !constraints.costs && !planned.rated.empty() && !planned.search_ended)
    planned.believed = believed_step(problem, planned.decision, computed_costs(planned), kinds);
  if (constraints.advice_s > 0)
    planned.advice =
        partition::advise(problem, planned.decision, {constraints.advice_s, took.count()});
}

}  // namespace

std::vector<partition::BatchChoice> batch_choices(const configs::DataConfig& data, double longest,
                                                  int most) {
  const double seconds = data.micro_batch_seconds * data.micro_batches;
  std::vector<partition::BatchChoice> choices;
  for (int power = 1; power <= most; power *= 2)
    for (const int number : {power, power + power / 2}) {
      if (number > most || seconds / number < longest) continue;
      const bool known = !choices.empty() && choices.back().micro_batches == number;
      if (!known) choices.push_back({seconds / number, number});
    }
  return choices;
}

ClusterPlan plan_on_cluster(const configs::Config& given, const partition::Cluster& cluster,
                            const ClusterConstraints& any) {
  configs::Config asked = with_saved_tokenizer(given);
  ClusterPlan planned;
  planned.rated = rated_devices(cluster);
  if (!planned.rated.empty()) asked.trainer.device = backend_of(planned.rated);
  check_features(asked);
  check_training_manifest(asked);
  const auto saved = state_to_resume(asked);
  const configs::Config recipe = saved ? kept(asked, *saved) : asked;
  ClusterConstraints constraints = any;
  if (saved) constraints.free_batch = false;
  (void)trained_schedules(recipe,
                          constraints.schedule);  // a wrong name is told before data is read
  const bool free = recipe.pipeline.recompute == configs::PipelineConfig().recompute;
  const bool selective = recipe.pipeline.recompute == partition::kSelective;
  planned.sequence = sequence_of(recipe, configs::PipelineConfig().recompute.c_str());
  if (free || selective) planned.remaking = sequence_of(recipe, partition::kSelective);
  const partition::LayerSequence& sequence = *planned.sequence;
  RecipeData data(recipe, sequence);
  planned.problem = problem_of(planned, recipe, data, cluster, constraints);
  planned.problem.keeps_order = saved || !recipe.trainer.order.empty();
  set_costs(planned, constraints, recipe, data.labels());
  RunBytes keeping(sequence, recipe, DeviceMessages::nccl);
  RunBytes remaking(planned.remaking ? *planned.remaking : sequence, recipe, DeviceMessages::nccl);
  const auto sample = [&](const partition::BatchChoice& batch, int replicas) {
    return data.sample(batch, replicas, constraints.first_steps);
  };
  RatedKinds kinds;
  if (!planned.rated.empty() && !constraints.costs)
    kinds = set_speeds(planned, sample(planned.problem.batches.front(), 1).front());
  const partition::LinkRates slowest = slowest_link(cluster);
  partition::PlanningProblem problem = planned.problem;
  problem.sample = sample;
  problem.bytes = [&](const partition::PlanChoice& choice) {
    const configs::Config config = with_buckets(with_choice(recipe, sequence, choice), slowest);
    RunBytes& bytes = choice.selective ? remaking : keeping;
    return bytes.of(config, data.bounds(config),
                    partition::schedule_of(choice, problem.known_schedules));
  };
  choose(planned, problem, constraints, kinds);
  planned.epoch_audio_s = data.epoch_seconds();
  planned.recipe = with_buckets(with_choice(recipe, sequence, planned.decision.choice), slowest);
  planned.recipe.pipeline.memory_gib = recipe.pipeline.memory_gib;
  planned.plan = plan_of(planned, planned.decision.choice, data);
  if (constraints.placements > 0)
    for (const auto& [choice, estimate] :
         partition::rank_choices(problem, planned.decision.choice, constraints.placements))
      planned.ranked.push_back({choice, estimate, plan_of(planned, choice, data)});
  return planned;
}

}  // namespace penstock::runtime
