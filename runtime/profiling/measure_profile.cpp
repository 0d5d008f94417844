#include "runtime/profiling/measure_profile.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/averages.h"
#include "base/host_memory.h"
#include "base/quantities.h"
#include "comm/collectives.h"
#include "comm/threads.h"
#include "partition/layout/build_model.h"
#include "partition/planner/plan/plan_estimate.h"
#include "runtime/planning/planning.h"
#include "runtime/profiling/layer_kinds.h"
#include "runtime/profiling/profiling_run.h"

namespace penstock::runtime {
namespace {

/// Returns `count` micro-batches of an epoch, at evenly spaced quantiles of their frames. Each rank
/// gets different ones. Fits need sizes that differ. For count = 2 and 2 ranks, rank 0 has the
/// quantiles 1/8 and 5/8, rank 1 has 3/8 and 7/8, so that all together are evenly spaced.
std::vector<MicroBatch> quantiles(const StepSequence& steps, int count, int rank, int ranks) {
  std::vector<MicroBatch> all;
  for (std::int64_t s = 0; s < steps.steps_in_epoch(0); ++s)
    std::ranges::copy(steps.at(s).micro_batches, std::back_inserter(all));
  std::ranges::stable_sort(all, {}, &MicroBatch::frames);
  std::vector<MicroBatch> chosen;
  for (int i = 0; i < count; ++i) {
    const double share = (i + (rank + 0.5) / ranks) / count;
    chosen.push_back(all[static_cast<std::size_t>(share * static_cast<double>(all.size()))]);
  }
  return chosen;
}

StepBatches step_of(const std::vector<MicroBatch>& batches) {
  StepBatches step{.micro_batches = batches, .lanes = std::vector<int>(batches.size(), 0)};
  for (const MicroBatch& batch : batches)
    step.utterances += static_cast<std::int64_t>(batch.utterances.size());
  return step;
}

constexpr double kShareOfHost = 0.8;  // usable fraction of the host's memory, which is shared
constexpr int kMethods = 3;
constexpr std::array<std::vector<double> LayerTimes::*, kMethods> kTimes = {
    &LayerTimes::forward, &LayerTimes::backward_input, &LayerTimes::backward_weight};
constexpr std::array<double partition::LayerCost::*, kMethods> kCosts = {
    &partition::LayerCost::forward, &partition::LayerCost::backward_input,
    &partition::LayerCost::backward_weight};

/// Layout of the measurements of one step. Each micro-batch has 3 numbers per layer and its reading
/// time. One number follows for the work that is done once per step.
struct RowShape {
  std::size_t layers;
  std::size_t micro_batches;

  std::size_t width() const { return kMethods * layers + 1; }
  std::size_t once() const { return width() * micro_batches; }
  std::size_t numbers() const { return once() + 1; }
};

/// The row, for L layers and M micro-batches:
///
///   m = 0    forward of L layers | backward_input of L | backward_weight of L | reading
///   …
///   m = M-1  …
///   last     seconds of the step outside of these actions, most of them of the update
///
/// Reading features is what a forward lasts beyond its layers. On one device there are no messages
/// to wait for.
std::vector<double> row_of(const ProfiledStep& step, const RowShape& shape) {
  std::vector<double> numbers(shape.numbers());
  double& once = numbers[shape.once()];
  once = step.end - step.start;
  for (const WatchedAction& action : step.actions) {
    if (action.action.kind != partition::ActionKind::step) once -= action.end - action.start;
    if (!partition::computes(action.action.kind)) continue;
    double* row = numbers.data() + shape.width() * action.action.micro_batch;
    for (int method = 0; method < kMethods; ++method)
      for (std::size_t i = 0; i < shape.layers; ++i)
        row[method * shape.layers + i] += (action.layers.*kTimes[method])[i];
    if (action.action.kind == partition::ActionKind::forward)
      row[shape.width() - 1] += action.end - action.start - action.computing;
  }
  return numbers;
}

/// Returns the recipe of the whole model on one device, in one lane.
configs::Config on_one_device(const configs::Config& recipe) {
  configs::Config config = alone(recipe);
  config.trainer.lanes = 1;
  config.pipeline.schedule = "1f1b";
  config.pipeline.shard_optimizer = false;
  config.pipeline.recompute = configs::PipelineConfig().recompute;
  config.pipeline.recompute_layers.clear();
  return config;
}

/// Profiles repeated steps. Calls `meet` before the first one, so that all ranks begin together.
/// The first step is a warm-up and is dropped.
std::vector<std::vector<double>> run_profile(const ProfilingData& data,
                                             const std::vector<MicroBatch>& batches, int repeats,
                                             const std::function<void()>& meet) {
  const auto self = comm::make_thread_communicators({.ranks = 1});
  const configs::Config config = on_one_device(data.config);
  const partition::Plan plan = plan_run(data.sequence, config, data.shape,
                                        computed_costs(data.sequence, config, data.shape));
  ProfilingRun profiling(data, config, plan, *self.front());
  meet();
  const std::vector<ProfiledStep> steps =
      profiling.run(std::vector<StepBatches>(1 + repeats, step_of(batches)),
                    std::vector<StepBatches>(ProfilingRun::kStepsAhead, step_of(batches)));
  std::vector<std::vector<double>> rows;
  for (const ProfiledStep& step : steps | std::views::drop(1))
    rows.push_back(row_of(step, {data.sequence.layers.size(), batches.size()}));
  return rows;
}

/// Returns the bytes that measuring the whole model takes on a device.
double bytes_of_whole(const ProfilingData& data) {
  configs::Config config = on_one_device(data.config);
  config.pipeline.memory_gib = 0;
  return static_cast<double>(
      plan_run(data.sequence, config, data.shape, computed_costs(data.sequence, config, data.shape))
          .bytes_of(0)
          .total());
}

/// Returns the bytes that a rank may take: pipeline.memory_gib, or its device's free memory. Ranks
/// on CPUs share the host's memory.
double bytes_at_hand(const configs::Config& config, int ranks) {
  if (config.pipeline.memory_gib > 0) return config.pipeline.memory_gib * kGib;
  const auto backend = make_backend(config.trainer);
  if (backend->kind() != layers::DeviceKind::cpu)
    return static_cast<double>(backend->free_memory());
  return kShareOfHost * host_memory() / ranks;
}

/// Returns true if the whole model does not fit. Rank 0 decides for all ranks.
bool is_too_large(const ProfilingData& data, int ranks, comm::Communicator& world) {
  std::vector<double> too_large(1);
  if (world.rank() == 0)
    too_large[0] = bytes_of_whole(data) > bytes_at_hand(data.config, ranks) ? 1 : 0;
  comm::sum_disjoint(world, too_large);
  return too_large[0] > 0;
}

}  // namespace

partition::MicroBatchLengths lengths_of(const MicroBatch& batch, const Corpus& corpus) {
  partition::MicroBatchLengths lengths;
  for (const BatchUtterance& u : batch.utterances) {
    lengths.frames.push_back(u.frames);
    lengths.labels.push_back(static_cast<std::int64_t>(corpus.labels(u.id).size()));
  }
  return lengths;
}

/// A step is divided into the times of its layers, per micro-batch, the time of reading features,
/// and a rest that occurs once per step. Costs are fitted to the layers' times over micro-batches
/// of different sizes, by the terms of each layer (partition::cost_terms()). The rest, divided by
/// the number of parameters, is the cost of an update.
ProfileMeasurement::ProfileMeasurement(const ProfilingData& data, comm::Communicator& world,
                                       const ProfileOptions& options)
    : data_(data), world_(world), options_(options) {
  const bool on_cpu = backend_sizes(data.config).device == layers::DeviceKind::cpu;
  const int ranks = on_cpu ? world.size() : 1;
  for (int rank = 0; rank < ranks; ++rank)
    batches_.push_back(quantiles(data.steps, options.micro_batches, rank, ranks));
  if (!is_too_large(data, ranks, world)) return;
  if (auto fewer = each_kind_once(data.config, data.labels, data.sequence)) {
    like_ = std::move(fewer->like);
    fewer_.emplace(ProfilingData{std::move(fewer->config), data.labels, std::move(fewer->sequence),
                                 data.corpus, StepSequence(data.steps.options()), data.shape});
  }
}

void ProfileMeasurement::take() {
  const int ranks = static_cast<int>(batches_.size());
  if (world_.rank() >= ranks) return;
  const auto meet = [&] {
    if (ranks > 1) comm::barrier(world_);
  };
  for (auto& row : run_profile(measured(), batches_[world_.rank()], options_.repeats, meet))
    steps_.push_back(std::move(row));
}

/// Returns the numbers of all ranks, one rank after another. All ranks call this together.
std::vector<double> ProfileMeasurement::means_of_ranks() const {
  const RowShape shape{measured().sequence.layers.size(), batches_.front().size()};
  std::vector<double> numbers(shape.numbers() * batches_.size());
  if (!steps_.empty())
    std::ranges::copy(trimmed_mean(steps_), numbers.begin() + static_cast<std::ptrdiff_t>(
                                                                  shape.numbers() * world_.rank()));
  comm::sum_disjoint(world_, numbers);
  return numbers;
}

partition::DeviceProfile ProfileMeasurement::profile() const {
  const std::vector<double> numbers = means_of_ranks();
  const partition::LayerSequence& sequence = measured().sequence;
  const std::size_t ranks = batches_.size(), layers = sequence.layers.size();
  const RowShape shape{layers, batches_.front().size()};
  partition::DeviceProfile profile;
  profile.model = partition::model_summary(data_.config.model, data_.labels);
  profile.device = make_backend(data_.config.trainer)->description();
  profile.compute = data_.config.precision.compute;
  profile.ranks = static_cast<int>(ranks);
  profile.threads = data_.config.trainer.threads;
  // Unpack the numbers of all ranks, which row_of() has laid out: lengths and times of every
  // micro-batch.
  std::vector<partition::MeasuredMicroBatch> measured;
  std::vector<partition::MicroBatchLengths> lengths;
  std::vector<double> reading, once;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double* of_rank = numbers.data() + shape.numbers() * rank;
    for (std::size_t m = 0; m < shape.micro_batches; ++m) {
      const double* row = of_rank + shape.width() * m;
      lengths.push_back(lengths_of(batches_[rank][m], data_.corpus));
      reading.push_back(row[shape.width() - 1]);
      auto& one = measured.emplace_back(partition::MeasuredMicroBatch{lengths.back(), {}});
      for (std::size_t i = 0; i < layers; ++i) {
        partition::LayerCost& cost =
            one.layers.emplace_back(partition::LayerCost{sequence.layers[i]->name()});
        for (int method = 0; method < kMethods; ++method)
          cost.*kCosts[method] = row[method * layers + i];
      }
    }
    once.push_back(of_rank[shape.once()]);
  }
  // Fit costs to the times of all ranks together: their micro-batches are of different sizes.
  profile.layers =
      partition::fit_costs(partition::cost_terms(sequence, backend_sizes(data_.config)), measured);
  if (fewer_) spread(profile);
  profile.reading = partition::fit_cost(
      {partition::CostTerm::constant, partition::CostTerm::frames}, lengths, reading);
  const auto trained = partition::trained_parameters(sequence);
  profile.parameter_s =
      median(once) / static_cast<double>(std::reduce(trained.begin(), trained.end()));
  profile.middling = lengths_of(batches_[ranks / 2][shape.micro_batches / 2], data_.corpus);
  return profile;
}

void ProfileMeasurement::spread(partition::DeviceProfile& profile) const {
  const std::vector<partition::FittedLayer> kinds = std::move(profile.layers);
  profile.layers.clear();
  for (std::size_t i = 0; i < like_.size(); ++i) {
    profile.layers.push_back(kinds[like_[i]]);
    profile.layers.back().layer = data_.sequence.layers[i]->name();
  }
  profile.device += ", each kind of layer once";
}

partition::DeviceProfile measure_profile(const ProfilingData& data, comm::Communicator& world,
                                         const ProfileOptions& options) {
  ProfileMeasurement measurement(data, world, options);
  measurement.take();
  return measurement.profile();
}

partition::SequenceProfile neutral_profile(const partition::DeviceProfile& profile,
                                           const partition::LayerSequence& sequence,
                                           const layers::BackendSizes& sizes) {
  const std::vector<layers::LayerPlan> plans =
      partition::plan_layers(sequence, profile.middling.frames, sizes, profile.middling.labels);
  const auto transfers =
      partition::transfer_costs(sequence, profile.middling, sizes, partition::default_link(sizes));
  partition::SequenceProfile neutral{profile.model, {}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    partition::LayerProfile& layer = neutral.layers.emplace_back();
    layer.name = profile.layers[i].layer;
    layer.activation_bytes = static_cast<double>(plans[i].output.bytes());
    for (const layers::ParamDecl& param : plans[i].params)
      if (param.summed)
        layer.parameter_bytes +=
            static_cast<double>(layers::element_count(param.shape)) * sizeof(float);
    layer.transfer_ms = 1e3 * transfers[i];
  }
  return neutral;
}

}  // namespace penstock::runtime
