#include "runtime/profiling/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/collectives.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/cost/device_file.h"
#include "partition/planner/cut/partitioner.h"
#include "partition/planner/simulate/simulate.h"
#include "partition/planner/simulate/step_estimate.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/corpus/corpus_work.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/measure_layers.h"
#include "runtime/pipeline/session.h"
#include "runtime/planning/cluster_costs.h"
#include "runtime/profiling/layer_kinds.h"
#include "runtime/profiling/links/clocks.h"
#include "runtime/trainer/make_training_step.h"

// The benchmark builds what a training run with these settings would build: a recipe, a plan and a
// session. Only features and labels are made up, and the plan follows from the cut instead of the
// planner's search. Layers are measured before the session exists, because a rank must know the cut
// to hold its stage.

namespace penstock::runtime {
namespace {

/// Measures layer costs on rank 0. If the model repeats its layers, each kind is measured once, so
/// that one rank needs no memory for the whole model.
class MeasuredKinds {
 public:
  MeasuredKinds(const configs::Config& config, const partition::LayerSequence& sequence, int labels)
      : all_(sequence), fewer_(each_kind_once(config, labels, sequence)) {}

  const partition::LayerSequence& sequence() const { return fewer_ ? fewer_->sequence : all_; }

  /// Returns the costs of every layer of the model. All ranks call this together and get the same
  /// costs.
  std::vector<partition::LayerCost> costs(comm::Communicator& world, layers::Backend& backend,
                                          const StepWork& work, const ReadFeatures& features,
                                          const layers::BackendSizes& sizes) const {
    std::vector<double> numbers(3 * sequence().layers.size());
    if (world.rank() == 0) {
      const auto costs = measure_layers(backend, sequence(), work, features, {.sizes = sizes});
      for (std::size_t i = 0; i < costs.size(); ++i) {
        numbers[3 * i] = costs[i].forward;
        numbers[3 * i + 1] = costs[i].backward_input;
        numbers[3 * i + 2] = costs[i].backward_weight;
      }
    }
    comm::broadcast(world, std::as_writable_bytes(std::span(numbers)));
    std::vector<partition::LayerCost> costs;
    for (std::size_t i = 0; i < all_.layers.size(); ++i) {
      const double* of = numbers.data() + 3 * (fewer_ ? fewer_->like[i] : i);
      costs.push_back({all_.layers[i]->name(), of[0], of[1], of[2]});
    }
    return costs;
  }

 private:
  const partition::LayerSequence& all_;
  std::optional<EachKindOnce> fewer_;
};

/// Returns the first layer of each chunk, then the number of layers. Throws ConfigError unless they
/// rise.
std::vector<int> given_cut(const std::vector<int>& cut, int layers, int chunks) {
  std::vector<int> begin = cut;
  begin.insert(begin.begin(), 0);
  begin.push_back(layers);
  const auto equal_or_falling = std::ranges::adjacent_find(begin, std::ranges::greater_equal{});
  if (std::ssize(begin) != chunks + 1 || equal_or_falling != begin.end())
    throw ConfigError(fmt::format("--cut takes {} from 1 to {}, in rising order, for {}",
                                  counted(chunks - 1, "layer number"), layers - 1,
                                  counted(chunks, "part")));
  return begin;
}

/// Messages count nothing here, since the benchmark has measured layers and no links.
std::vector<int> fastest_cut(const std::vector<partition::LayerCost>& layers, int chunks,
                             int stages) {
  partition::PartitionProblem problem;
  for (const partition::LayerCost& layer : layers) problem.compute.push_back(layer.total());
  problem.transfer.assign(layers.size(), 0.0);
  problem.stages = chunks;
  problem.chunks_per_rank = chunks / stages;
  return partition::partition(problem).begin;
}

/// Returns the recipe of a training run with these steps.
configs::Config recipe_of(const BenchOptions& options, int ranks) {
  configs::Config config;
  config.model = options.model;
  config.data.micro_batches = options.micro_batches;
  config.optimizer.learning_rate = 1e-4;
  config.precision = options.precision;
  config.pipeline.stages = ranks / options.replicas;
  config.pipeline.replicas = options.replicas;
  config.pipeline.schedule = options.schedule;
  config.trainer.seed = 0;
  config.trainer.lanes = options.replicas;
  config.trainer.device = options.device;
  config.trainer.threads = options.threads;
  return config;
}

/// Throws ConfigError unless each replica has equally many stages and at least one micro-batch.
void check_replicas(const BenchOptions& options, int ranks) {
  if (ranks % options.replicas != 0)
    throw ConfigError(fmt::format("{} can't be divided into --replicas {} of as many stages each",
                                  counted(ranks, "rank"), options.replicas));
  if (options.micro_batches < options.replicas)
    throw ConfigError(
        fmt::format("--replicas {} need a micro-batch each: --micro-batches {} is less",
                    options.replicas, options.micro_batches));
}

/// Returns a plan in which neighbouring ranks are the stages of a replica. It predicts no bytes, so
/// that the check of the devices' memory passes.
partition::Plan plan_of(const configs::Config& config, const partition::LayerSequence& sequence,
                        const std::vector<int>& cut) {
  const partition::RunSchedule schedule(config.pipeline.schedule, config.pipeline.stages);
  const std::vector<std::string> names = partition::names_of(sequence);
  partition::Plan plan;
  plan.schedule = config.pipeline.schedule;
  plan.micro_batches = config.data.micro_batches;
  plan.lanes = config.trainer.lanes;
  plan.ranks = partition::neighbouring_stages(config.pipeline.stages, config.pipeline.replicas);
  for (std::size_t chunk = 0; chunk + 1 < cut.size(); ++chunk)
    plan.chunks.push_back({.stage = schedule.chunk_ranks()[chunk],
                           .first = cut[chunk],
                           .layers = {names.begin() + cut[chunk], names.begin() + cut[chunk + 1]}});
  return plan;
}

/// Returns the run shape of steps that all consist of this work.
RunShape shape_of(const StepWork& work, int labels) {
  RunShape shape{{}, labels};
  shape.training.micro_batches = work.global_micro_batches;
  for (const MicroBatchWork& micro_batch : work.micro_batches) {
    const std::vector<std::int64_t>& lengths = micro_batch.lengths;
    MicroBatchExtent& max = shape.training.micro_batch;
    max.utterances = std::max(max.utterances, std::ssize(lengths));
    max.frames =
        std::max(max.frames, std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
    max.longest = std::max(max.longest, std::ranges::max(lengths));
    max.labels = std::max<std::int64_t>(max.labels, std::ranges::max(micro_batch.label_lengths));
    shape.micro_batches.push_back(lengths);
  }
  return shape;
}

/// Returns the micro-batches of one replica, dealt round-robin. Each replica has one lane, so their
/// numbers of micro-batches differ by at most one.
StepWork share_of(const StepWork& work, int replica, int replicas) {
  StepWork share = work;
  std::erase_if(share.micro_batches, [&](const MicroBatchWork& micro_batch) {
    return micro_batch.place % replicas != replica;
  });
  return share;
}

/// Times the steps after the warm-up and records the loss of the first step. The barrier before
/// each step is outside of its time, so a step does not wait for ranks that ended the previous one
/// later.
void add_times(const BenchOptions& options, comm::Communicator& world,
               const std::function<double()>& run_step, BenchReport& report) {
  std::vector<double> times;
  for (int s = 0; s < options.warm_up + options.steps; ++s) {
    comm::barrier(world);
    double loss = 0;
    const double seconds = seconds_of([&] { loss = run_step(); });
    if (s == 0) report.loss = loss;
    if (s >= options.warm_up) times.push_back(seconds);
  }
  std::sort(times.begin(), times.end());
  report.step_s = times[times.size() / 2];
  report.fastest_step_s = times.front();
  report.slowest_step_s = times.back();
}

/// Adds the throughput of the median step.
void add_speeds(const partition::LayerSequence& sequence, const StepWork& work,
                double frames_per_second, BenchReport& report) {
  report.audio_s_per_s = audio_seconds(work, frames_per_second) / report.step_s;
  for (const MicroBatchWork& m : work.micro_batches) {
    const std::vector<std::int64_t> labels(m.label_lengths.begin(), m.label_lengths.end());
    report.flops_per_s += partition::training_flops(sequence, m.lengths, labels) / report.step_s;
  }
}

/// The measurements that a prediction is compared with.
struct Measured {
  const partition::Plan& plan;
  const std::vector<partition::LayerCost>& layers;  // for one micro-batch
  const std::vector<double>& parameters;            // number of parameters per stage
};

/// Returns the speed-up over one rank that the cut and the pipeline's bubble allow, given these
/// layer costs. If the micro-batches do not divide evenly, the replica with one more decides the
/// step.
double bound_of(const partition::Plan& plan, const std::vector<partition::LayerCost>& layers) {
  const int max = (plan.micro_batches + plan.replicas() - 1) / plan.replicas();  // per replica
  return partition::speedup_bound(partition::make_schedule(plan.schedule, plan.stages(), max),
                                  partition::chunk_times(plan.cut(), layers)) *
         plan.micro_batches / max;
}

/// Adds the layers of each stage and the seconds that they compute.
void add_layout(const partition::Plan& plan, const std::vector<partition::LayerCost>& layers,
                BenchReport& report) {
  report.stages = plan.stages();
  report.replicas = plan.replicas();
  report.stage_seconds.assign(static_cast<std::size_t>(plan.stages()), 0.0);
  const auto of_chunks = partition::chunk_times(plan.cut(), layers);
  for (std::size_t chunk = 0; chunk < plan.chunks.size(); ++chunk) {
    report.first_layers.push_back(plan.chunks[chunk].first);
    report.stage_seconds[plan.chunks[chunk].stage] += of_chunks[chunk].total();
  }
  report.bound = bound_of(plan, layers);
}

/// Returns the number of parameters of each stage. All ranks call this together.
std::vector<double> parameters_of_stages(comm::Communicator& world, Session& session) {
  std::vector<double> parameters(world.size());
  if (const auto [stage, replica] = session.grid().here(); replica == 0)
    parameters[stage] = static_cast<double>(session.stage().parameters().element_count());
  comm::sum_disjoint(world, parameters);
  return parameters;
}

std::string predicted_by(const BenchOptions& options, layers::DeviceKind device) {
  if (!options.like.empty()) return options.like;
  return device == layers::DeviceKind::cpu ? "cpu-avx2" : "h100";
}

/// Adds the model's size, its layers by kind with measured and predicted costs, and the predicted
/// step. All micro-batches of the benchmark are alike, so one represents all.
void add_prediction(const partition::DeviceRates& rates, const layers::BackendSizes& sizes,
                    const partition::LayerSequence& sequence, const MicroBatchWork& micro_batch,
                    const Measured& measured, BenchReport& report) {
  const std::vector<std::int64_t> labels(micro_batch.label_lengths.begin(),
                                         micro_batch.label_lengths.end());
  const std::vector<partition::LayerCost> predicted =
      partition::analytic_costs(sequence, micro_batch.lengths, sizes, rates, labels);
  report.parameters = static_cast<std::int64_t>(
      std::accumulate(measured.parameters.begin(), measured.parameters.end(), 0.0));
  report.kinds =
      layer_kind_times(sequence, {micro_batch.lengths, labels}, measured.layers, predicted);
  double all = 0;
  for (const partition::LayerCost& cost : predicted) all += cost.total();
  report.predicted_s = all * measured.plan.micro_batches / bound_of(measured.plan, predicted) +
                       std::ranges::max(measured.parameters) * parameter_seconds(rates);
}

/// Adds the settings and the device.
void add_settings(const BenchOptions& options, Session& session, BenchReport& report) {
  report.device = session.backend().description();
  report.how = session.device().how;
  report.micro_batches = options.micro_batches;
  report.utterances = options.utterances;
  report.threads = options.threads;
}

}  // namespace

BenchReport bench(const BenchOptions& options, comm::Communicator& world) {
  check_replicas(options, world.size());
  const configs::Config config = recipe_of(options, world.size());
  const int stages = config.pipeline.stages;
  RankDevice device = choose_device(config.trainer, world, config.precision);
  const int labels = partition::labels_without_text(options.model);
  const partition::LayerSequence sequence = partition::build_model(options.model, labels);
  const double frames_per_second = options.features.frames_per_second();
  const StepWork work = synthetic_work({.micro_batches = options.micro_batches,
                                        .utterances = options.utterances,
                                        .seconds = options.seconds,
                                        .frames_per_second = frames_per_second,
                                        .labels = labels});
  const ReadFeatures features = synthetic_features(0);

  const layers::BackendSizes sizes{device.backend->kind(), compute_type(options.precision),
                                   fp32_products(options.precision)};
  BenchReport report;
  report.predicted_by = predicted_by(options, sizes.device);
  const auto rates = partition::read_device(report.predicted_by).rates(sizes);
  const auto chunks =
      static_cast<int>(partition::RunSchedule(options.schedule, stages).chunk_ranks().size());
  std::vector<int> cut;
  if (!options.cut.empty()) cut = given_cut(options.cut, sequence.size(), chunks);
  const MeasuredKinds kinds(config, sequence, labels);
  const auto layers = kinds.costs(world, *device.backend, work, features, sizes);
  if (cut.empty()) cut = fastest_cut(layers, chunks, stages);

  const partition::Plan plan = plan_of(config, sequence, cut);
  const RunShape shape = shape_of(work, labels);
  Session session(world, std::move(device), training_session_options(config, sequence, plan));
  const auto step = make_training_step(
      session, {.config = config, .sequence = sequence, .plan = plan, .shape = shape});

  report.measured_layers = kinds.sequence().size();
  TrainingClock clock;
  const StepWork share = share_of(work, session.grid().here().replica, options.replicas);
  const ReadFeatures own = [&](int m, std::span<float> x_FC, std::span<float> weights) {
    features(share.micro_batches[static_cast<std::size_t>(m)].place, x_FC, weights);
  };
  const auto run_step = [&] { return step->run(share, own, clock).front().loss; };
  comm::guarded(world.shutdown(), [&] { add_times(options, world, run_step, report); });
  add_speeds(sequence, work, frames_per_second, report);
  add_layout(plan, layers, report);
  const std::vector<double> parameters = parameters_of_stages(world, session);
  add_prediction(rates, sizes, sequence, work.micro_batches.front(), {plan, layers, parameters},
                 report);
  add_settings(options, session, report);
  return report;
}

}  // namespace penstock::runtime
