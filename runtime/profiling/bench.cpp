#include "runtime/profiling/bench.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "comm/collectives.h"
#include "partition/cut/partitioner.h"
#include "partition/model/build_model.h"
#include "partition/schedule/make_schedule.h"
#include "partition/simulate/chunk_times.h"
#include "partition/simulate/simulate.h"
#include "runtime/corpus/synthetic_work.h"
#include "runtime/devices/device.h"
#include "runtime/pipeline/measure_layers.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/training_step.h"

namespace penstock {
namespace {

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Rank 0's measurement of each layer's passes, three numbers a layer, on every rank.
std::vector<LayerCost> measure(Communicator& world, Backend& backend, const LayerSequence& sequence,
                               const StepWork& work, const ReadFeatures& features,
                               const BackendSizes& sizes) {
  std::vector<double> numbers(3 * sequence.layers.size());
  if (world.rank() == 0) {
    const auto costs = measure_layers(backend, sequence, work, features, {.sizes = sizes});
    for (std::size_t i = 0; i < costs.size(); ++i) {
      numbers[3 * i] = costs[i].forward;
      numbers[3 * i + 1] = costs[i].backward_input;
      numbers[3 * i + 2] = costs[i].backward_weight;
    }
  }
  broadcast(world, std::as_writable_bytes(std::span(numbers)));
  std::vector<LayerCost> costs;
  for (std::size_t i = 0; i < sequence.layers.size(); ++i)
    costs.push_back(
        {sequence.layers[i]->name(), numbers[3 * i], numbers[3 * i + 1], numbers[3 * i + 2]});
  return costs;
}

/// First layer of each chunk, then the number of layers. ConfigError unless they rise.
std::vector<int> given_cut(const std::vector<int>& cut, int layers, int chunks) {
  std::vector<int> begin = cut;
  begin.insert(begin.begin(), 0);
  begin.push_back(layers);
  const auto equal_or_falling = std::ranges::adjacent_find(begin, std::ranges::greater_equal{});
  if (std::ssize(begin) != chunks + 1 || equal_or_falling != begin.end())
    throw ConfigError("--cut takes " + std::to_string(chunks - 1) +
                      " rising layer numbers from 1 to " + std::to_string(layers - 1) + " for " +
                      std::to_string(chunks) + " parts");
  return begin;
}

std::vector<int> fastest_cut(const std::vector<LayerCost>& layers, int chunks, int stages) {
  PartitionProblem problem;
  for (const LayerCost& layer : layers) problem.compute.push_back(layer.total());
  problem.transfer.assign(layers.size(), 0.0);
  problem.stages = chunks;
  problem.chunks_a_rank = chunks / stages;
  return partition(problem).begin;
}

}  // namespace

BenchReport bench(const BenchOptions& options, Communicator& world) {
  const int stages = world.size();
  TrainerConfig where;
  where.device = options.device;
  where.threads = options.threads;
  const RankDevice device = choose_device(where, world);
  Backend* const backend = device.backend.get();
  const LayerSequence sequence = build_model(options.model, options.labels);
  const StepWork work = synthetic_work(
      {options.micro_batches, options.utterances, options.seconds, options.labels, 0});
  const ReadFeatures features = synthetic_features(0);

  const BackendSizes sizes{backend->kind(), compute_type(options.precision)};
  const RunSchedule schedule(options.schedule, stages);
  const std::vector<int>& ranks = schedule.chunk_ranks();
  const auto chunks = static_cast<int>(ranks.size());
  std::vector<int> begin;
  if (!options.cut.empty()) begin = given_cut(options.cut, sequence.size(), chunks);
  const auto layers = measure(world, *backend, sequence, work, features, sizes);
  if (begin.empty()) begin = fastest_cut(layers, chunks, stages);

  Plan plan;
  plan.ranks = neighbouring_stages(stages, 1);
  const RankGrid grid(world, plan);
  TrainingStep* training = nullptr;
  const auto stream = backend->make_stream([&] {
    if (training != nullptr) training->progress();
  });
  StageOptions part;
  part.stage = grid.here().stage;
  part.cut = begin;
  part.schedule = schedule;
  part.sizes = sizes;
  part.links = device.links;
  Stage stage(*backend, *stream, grid.pipeline(), sequence, part);
  TrainingStep::Options how;
  how.optimizer.learning_rate = 1e-4;
  how.precision = options.precision;
  how.links = device.links;
  how.model_blocks =
      norm_blocks(plan_layers(sequence, work.micro_batches.front().lengths, BackendSizes{}));
  TrainingStep step(*backend, *stream, grid, stage, how);
  training = &step;

  BenchReport report;
  TrainingClock clock;
  std::vector<double> times;
  for (int s = 0; s < options.warm_up + options.steps; ++s) {
    barrier(world);
    double loss = 0;
    const double seconds = seconds_of([&] { loss = step.run(work, features, clock).front().loss; });
    if (s == 0) report.loss = loss;
    if (s >= options.warm_up) times.push_back(seconds);
  }
  std::sort(times.begin(), times.end());
  report.step_s = times[times.size() / 2];
  report.fastest_step_s = times.front();
  report.slowest_step_s = times.back();
  report.audio_s_per_s = audio_seconds(work) / report.step_s;
  for (const MicroBatchWork& micro_batch : work.micro_batches)
    report.flops_per_s += training_flops(sequence, micro_batch.lengths) / report.step_s;
  std::vector<double> parameters(stages);
  parameters[part.stage] = static_cast<double>(stage.parameters().element_count());
  sum_disjoint(world, parameters);
  report.parameters =
      static_cast<std::int64_t>(std::accumulate(parameters.begin(), parameters.end(), 0.0));
  report.device = backend->description();
  report.how = device.how;
  report.stages = stages;
  report.micro_batches = options.micro_batches;
  report.utterances = options.utterances;
  report.threads = options.threads;
  report.first_layers.assign(begin.begin(), begin.end() - 1);
  const auto of_chunks = chunk_times(begin, layers);
  report.stage_seconds.assign(static_cast<std::size_t>(stages), 0.0);
  for (int chunk = 0; chunk < chunks; ++chunk)
    report.stage_seconds[ranks[chunk]] += of_chunks[chunk].total();
  report.bound =
      speedup_bound(make_schedule(options.schedule, stages, options.micro_batches), of_chunks);
  return report;
}

}  // namespace penstock
