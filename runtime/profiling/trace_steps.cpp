#include "runtime/profiling/trace_steps.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "base/averages.h"
#include "base/error.h"
#include "comm/collectives.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/plan/plan_estimate.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/simulate/step_estimate.h"
#include "runtime/planning/planning.h"
#include "runtime/profiling/measure_profile.h"
#include "runtime/profiling/plan_links.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {
namespace {

constexpr int kWarmUp = 2;
/// Costs measured before the steps and after every turn.
constexpr ProfileOptions kBetween{.micro_batches = 8, .repeats = 2};

/// Returns the first lane of each replica, then the number of lanes.
std::vector<int> first_lanes(const partition::Plan& plan) {
  std::vector<int> first{0};
  for (const int lanes : plan.lanes_of_replicas()) first.push_back(first.back() + lanes);
  return first;
}

std::vector<partition::MicroBatchLengths> lengths_of_replica(const StepBatches& step,
                                                             const Corpus& corpus, int first_lane,
                                                             int end_lane) {
  std::vector<partition::MicroBatchLengths> lengths;
  for (std::size_t m = 0; m < step.micro_batches.size(); ++m)
    if (step.lanes[m] >= first_lane && step.lanes[m] < end_lane)
      lengths.push_back(lengths_of(step.micro_batches[m], corpus));
  return lengths;
}

/// Inputs of the predictions of all steps, except costs.
struct Pipelines {
  const partition::Plan& plan;
  const PlanLinks& links;
  std::vector<double> kept;  // bytes that an offload moves, per chunk; empty: none
};

/// Without offload nothing is copied, and the simulator needs no bytes.
std::vector<double> kept_bytes(const ProfilingData& data, const partition::Plan& plan) {
  if (plan.resident == 0) return {};
  const partition::ChunkBytes bytes =
      bytes_of_run(data.sequence, data.config, data.shape, partition::schedule_of(plan));
  std::vector<double> kept;
  for (const partition::ChunkPlan& chunk : plan.chunks)
    kept.push_back(bytes.kept(chunk.first, chunk.last(), static_cast<int>(kept.size())));
  return kept;
}

/// Returns the host bandwidth of each chunk's device in this replica.
std::vector<double> host_bandwidths(const Pipelines& pipelines, int replica) {
  std::vector<double> bandwidths;
  for (const partition::ChunkPlan& chunk : pipelines.plan.chunks)
    bandwidths.push_back(
        pipelines.links.host_bandwidth.at(pipelines.plan.ranks[chunk.stage][replica]));
  return bandwidths;
}

/// Predicts the step with these batches: simulates each replica and takes the slowest.
PredictedStep predict(const ProfilingData& data, const partition::DeviceProfile& profile,
                      const Pipelines& pipelines, const StepBatches& batches) {
  const partition::Plan& plan = pipelines.plan;
  const PlanLinks& links = pipelines.links;
  const std::vector<int> lanes = first_lanes(plan);
  PredictedStep step;
  step.ranks.resize(plan.world_size());
  for (int replica = 0; replica < plan.replicas(); ++replica) {
    const auto lengths =
        lengths_of_replica(batches, data.corpus, lanes[replica], lanes[replica + 1]);
    if (lengths.empty()) continue;
    // Each replica is simulated by itself, with the lengths of its own micro-batches, and the rates
    // of the links between its own ranks.
    partition::StepLayout layout =
        partition::profiled_layout(profile, data.sequence, plan, static_cast<int>(lengths.size()));
    layout.overlap = links.overlap;
    layout.link = [&, replica](int from, int to) {
      return links.rates.at({plan.ranks[from][replica], plan.ranks[to][replica]});
    };
    if (plan.stages() == 1) layout.link = {};
    const partition::StepCosts costs =
        partition::profiled_costs(profile, data.sequence, backend_sizes(data.config), lengths);
    if (!pipelines.kept.empty())
      layout.copy_seconds = partition::copy_seconds(
          costs, layout.begin, {pipelines.kept, host_bandwidths(pipelines, replica)});
    const partition::StepEstimate prediction(costs, layout);
    const bool late = data.config.pipeline.post_validation && plan.world_size() > 1;
    const partition::Barrier barrier =
        late ? partition::Barrier::none : partition::Barrier::before_step;
    step.seconds = std::max(step.seconds, prediction.period(barrier));
    partition::Simulation run = prediction.simulation(barrier);
    // The simulation counts stages. The trace counts ranks.
    for (int stage = 0; stage < plan.stages(); ++stage)
      step.ranks[plan.ranks[stage][replica]] = std::move(run.ranks[stage]);
    for (partition::TimedMessage message :
         partition::simulated_messages(prediction.schedule(), prediction.durations(), barrier)) {
      message.from = plan.ranks[message.from][replica];
      message.to = plan.ranks[message.to][replica];
      step.messages.push_back(message);
    }
  }
  return step;
}

/// Returns the batches of `count` steps of the recipe.
std::vector<StepBatches> batches_of(const ProfilingData& data, std::int64_t first, int count) {
  std::vector<StepBatches> batches;
  for (int s = 0; s < count; ++s) batches.push_back(data.steps.at(first + s));
  return batches;
}

/// Records the actions of every rank in step `s` of a turn. Times are shifted so that the first
/// step after the warm-up begins at `begin`.
void take_measured(const std::vector<std::vector<ProfiledStep>>& ranks, std::size_t s, double begin,
                   TracedStep& step) {
  const auto end = [&](std::size_t of) {
    double latest = 0;
    for (const auto& rank : ranks) latest = std::max(latest, rank[of].end);
    return latest;
  };
  const double zero = end(kWarmUp - 1) - begin;
  step.begin = end(s - 1) - zero;
  step.measured_s = end(s) - end(s - 1);
  for (const auto& rank : ranks) {
    auto& actions = step.measured.emplace_back(rank[s].actions);
    for (WatchedAction& action : actions) {
      action.start -= zero;
      action.end -= zero;
    }
  }
}

/// Appends the turn's steps to the trace.
void take_turn(const std::vector<std::vector<ProfiledStep>>& ranks, Trace& trace) {
  const double begin =
      trace.steps.empty() ? 0 : trace.steps.back().begin + trace.steps.back().measured_s;
  for (std::size_t s = kWarmUp; s < ranks.front().size(); ++s)
    take_measured(ranks, s, begin, trace.steps.emplace_back());
}

/// Plans on rank 0 and broadcasts the plan, because other processors may round differently.
partition::Plan plan_by(const ProfilingData& data, const partition::DeviceProfile& profile,
                        comm::Communicator& world) {
  std::string text;
  if (world.rank() == 0) {
    const partition::CostModel costs = partition::fitted_cost_model(profile.layers);
    text = partition::plan_toml(
        plan_run(data.sequence, data.config, data.shape, costs(profile.middling)));
  }
  return partition::parse_plan(comm::broadcast(world, text), "the plan of rank 0",
                               planned_model(data.sequence, data.config.model, data.labels));
}

/// Returns a profile that was measured beforehand, with the costs of layers as they are trained.
/// Throws ConfigError unless it fits the recipe.
partition::DeviceProfile checked(partition::DeviceProfile profile, const ProfilingData& data) {
  partition::check_profile(profile,
                           {.model = partition::model_summary(data.config.model, data.labels),
                            .compute = data.config.precision.compute,
                            .layers = partition::names_of(data.sequence)});
  if (data.config.pipeline.recompute == partition::kSelective)
    throw ConfigError(
        "--profile is of layers that keep everything, and pipeline.recompute = selective runs "
        "parts of them again: leave --profile out, so that the layers are measured as they run");
  profile.layers = partition::trained_costs(profile, data.sequence);
  return profile;
}

/// Returns the links in `options`, or measures them.
PlanLinks links_of(const TraceOptions& options, const partition::Plan& plan,
                   const configs::TrainerConfig& config, comm::Communicator& world) {
  return options.links ? plan_links(plan, *options.links) : measure_plan_links(plan, config, world);
}

/// Runs the steps in turns and measures costs again after each. Each turn begins with fresh
/// weights, whose values do not change the times.
void run_turns(const ProfilingData& data, const TraceOptions& options, comm::Communicator& world,
               ProfileMeasurement& measurement, Trace& trace) {
  for (int first = 0; first < options.steps; first += ProfilingRun::kTurn) {
    const int count = kWarmUp + std::min(ProfilingRun::kTurn, options.steps - first);
    auto profiling = std::make_unique<ProfilingRun>(data, data.config, trace.plan, world);
    const auto ranks = gather_actions(
        world, profiling->run(batches_of(data, first, count),
                              batches_of(data, first + count, ProfilingRun::kStepsAhead)));
    trace.allocated_bytes.assign(world.size(), 0);
    trace.allocated_bytes[world.rank()] = static_cast<double>(profiling->allocated());
    comm::sum_disjoint(world, trace.allocated_bytes);
    profiling.reset();  // frees memory for the whole model of a profile
    if (world.rank() == 0) take_turn(ranks, trace);
    measurement.take();
  }
}

}  // namespace

const char* name_of(Prediction prediction) {
  return prediction == Prediction::beforehand ? "predicted beforehand" : "calibrated in place";
}

std::vector<Prediction> Trace::predictions() const {
  std::vector<Prediction> all;
  if (!steps.empty())
    for (const auto& [prediction, step] : steps.front().predicted) all.push_back(prediction);
  return all;
}

double Trace::measured_s() const {
  std::vector<double> seconds;
  for (const TracedStep& step : steps) seconds.push_back(step.measured_s);
  return median(seconds);
}

double Trace::predicted_s(Prediction by) const {
  std::vector<double> seconds;
  for (const TracedStep& step : steps) seconds.push_back(step.predicted.at(by).seconds);
  return median(seconds);
}

double Trace::error(Prediction by) const {
  std::vector<double> errors;
  for (const TracedStep& step : steps)
    errors.push_back(step.predicted.at(by).seconds / step.measured_s - 1);
  return median(errors);
}

/// Steps run in turns, with costs measured between them, because machines change their speed. All
/// measurements together form the profile "calibrated". Every step is then predicted by simulating
/// its own micro-batches under each profile.
Trace trace_steps(const configs::Config& recipe, comm::Communicator& world,
                  const TraceOptions& options) {
  const ProfilingData data = load_profiling_data(recipe, world);
  check_ranks(data.config, world.size());
  std::map<Prediction, partition::DeviceProfile> profiles;
  if (options.profile) profiles[Prediction::beforehand] = checked(*options.profile, data);
  ProfileMeasurement measurement(data, world, kBetween);
  measurement.take();
  Trace trace;
  trace.plan = plan_by(
      data, options.profile ? profiles[Prediction::beforehand] : measurement.profile(), world);
  const PlanLinks links = links_of(options, trace.plan, data.config.trainer, world);
  trace.links = links.links;
  trace.links_beforehand = options.links.has_value();
  trace.overlap = links.overlap;
  for (int rank = 0; rank < world.size(); ++rank)
    trace.planned_bytes.push_back(
        static_cast<double>(trace.plan.bytes_of(trace.plan.place_of(rank).stage).total()));
  run_turns(data, options, world, measurement, trace);
  profiles[Prediction::calibrated] = measurement.profile();
  const Pipelines pipelines{trace.plan, links, kept_bytes(data, trace.plan)};
  for (std::size_t s = 0; s < trace.steps.size(); ++s)
    for (const auto& [prediction, profile] : profiles)
      trace.steps[s].predicted[prediction] =
          predict(data, profile, pipelines, data.steps.at(static_cast<std::int64_t>(kWarmUp + s)));
  return trace;
}

}  // namespace penstock::runtime
