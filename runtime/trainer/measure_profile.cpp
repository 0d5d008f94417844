#include "runtime/trainer/measure_profile.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "comm/collectives.h"
#include "comm/threads.h"
#include "partition/build_chain.h"
#include "runtime/trainer/planning.h"
#include "runtime/trainer/rehearsal.h"

namespace penstock {
namespace {

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

/// `count` micro-batches of an epoch, evenly spread over their sizes; ranks take different ones.
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

/// One rank's medians: rows of a micro-batch are 3 numbers a layer, and the reading.
struct Medians {
  std::vector<double> rows;
  double once = 0;
};

constexpr int kMethods = 3;
constexpr std::array<std::vector<double> LayerTimes::*, kMethods> kTimes = {
    &LayerTimes::forward, &LayerTimes::backward_input, &LayerTimes::backward_weight};
constexpr std::array<double LayerCost::*, kMethods> kCosts = {
    &LayerCost::forward, &LayerCost::backward_input, &LayerCost::backward_weight};

/// Numbers of one step in the order of Medians::rows.
std::vector<double> row_numbers(const RehearsedStep& step, std::size_t layers, int micro_batches) {
  const std::size_t width = kMethods * layers + 1;
  std::vector<double> rows(width * micro_batches);
  for (const WatchedAction& action : step.actions) {
    if (!computes(action.action.kind)) continue;
    double* row = rows.data() + width * action.action.micro_batch;
    for (int method = 0; method < kMethods; ++method)
      for (std::size_t i = 0; i < layers; ++i)
        row[method * layers + i] += (action.layers.*kTimes[method])[i];
    row[width - 1] += action.end - action.start - action.computing;
  }
  return rows;
}

double once_of(const RehearsedStep& step) {
  double seconds = step.end - step.start;
  for (const WatchedAction& action : step.actions)
    if (action.action.kind != ActionKind::step) seconds -= action.end - action.start;
  return seconds;
}

Medians medians_of(const std::vector<RehearsedStep>& steps, std::size_t layers, int batches) {
  std::vector<std::vector<double>> all;
  std::vector<double> once;
  for (const RehearsedStep& step : steps) {
    all.push_back(row_numbers(step, layers, batches));
    once.push_back(once_of(step));
  }
  Medians medians{.rows = {}, .once = median(once)};
  for (std::size_t k = 0; k < all.front().size(); ++k) {
    std::vector<double> numbers;
    for (const auto& rows : all) numbers.push_back(rows[k]);
    medians.rows.push_back(median(numbers));
  }
  return medians;
}

/// The whole model on one device, in one lane.
Config on_one_device(const Config& recipe) {
  Config config = alone(recipe);
  config.trainer.lanes = 1;
  config.pipeline.schedule = "1f1b";
  config.pipeline.shard_optimizer = false;
  config.pipeline.recompute = PipelineConfig().recompute;
  return config;
}

/// `meet` is called before the first step, so that all ranks' begin together.
Medians rehearse(const RehearsalData& data, const std::vector<MicroBatch>& batches, int repeats,
                 const std::function<void()>& meet) {
  const auto self = make_thread_communicators({.ranks = 1});
  const Config config = on_one_device(data.config);
  const Plan plan =
      plan_run(data.chain, config, data.shape, computed_costs(data.chain, config, data.shape));
  Rehearsal rehearsal(data, config, plan, *self.front());
  meet();
  std::vector<RehearsedStep> steps =
      rehearsal.run(std::vector<StepBatches>(1 + repeats, step_of(batches)));
  steps.erase(steps.begin());
  return medians_of(steps, data.chain.layers.size(), static_cast<int>(batches.size()));
}

}  // namespace

MicroBatchLengths lengths_of(const MicroBatch& batch, const Corpus& corpus) {
  MicroBatchLengths lengths;
  for (const BatchUtterance& u : batch.utterances) {
    lengths.frames.push_back(u.frames);
    lengths.labels.push_back(static_cast<std::int64_t>(corpus.labels.at(u.id).size()));
  }
  return lengths;
}

DeviceProfile measure_profile(const RehearsalData& data, Communicator& world,
                              const ProfileOptions& options) {
  const BackendSizes sizes = backend_sizes(data.config);
  const int ranks = sizes.device == DeviceKind::cpu ? world.size() : 1;
  const std::size_t layers = data.chain.layers.size(), width = kMethods * layers + 1;
  const std::size_t of_rank = width * options.micro_batches + 1;
  std::vector<double> numbers(of_rank * ranks);
  std::vector<std::vector<MicroBatch>> batches;
  for (int rank = 0; rank < ranks; ++rank)
    batches.push_back(quantiles(data.steps, options.micro_batches, rank, ranks));
  const auto meet = [&] {
    if (ranks > 1) barrier(world);
  };
  if (world.rank() < ranks) {
    const Medians own = rehearse(data, batches[world.rank()], options.repeats, meet);
    double* at = numbers.data() + of_rank * world.rank();
    *std::ranges::copy(own.rows, at).out = own.once;
  }
  sum_disjoint(world, numbers);

  DeviceProfile profile;
  profile.model = model_summary(data.config.model, data.labels);
  profile.device = make_backend(data.config.trainer)->description();
  profile.compute = data.config.precision.compute;
  profile.ranks = ranks;
  profile.threads = data.config.trainer.threads;
  std::vector<MeasuredMicroBatch> measured;
  std::vector<MicroBatchLengths> lengths;
  std::vector<double> reading, once;
  for (int rank = 0; rank < ranks; ++rank) {
    for (int m = 0; m < options.micro_batches; ++m) {
      const double* row = numbers.data() + of_rank * rank + width * m;
      lengths.push_back(lengths_of(batches[rank][m], data.corpus));
      reading.push_back(row[width - 1]);
      auto& one = measured.emplace_back(MeasuredMicroBatch{lengths.back(), {}});
      for (std::size_t i = 0; i < layers; ++i) {
        LayerCost& cost = one.layers.emplace_back(LayerCost{data.chain.layers[i]->name()});
        for (int method = 0; method < kMethods; ++method)
          cost.*kCosts[method] = row[method * layers + i];
      }
    }
    once.push_back(numbers[of_rank * (rank + 1) - 1]);
  }
  profile.layers = fit_costs(cost_terms(data.chain, sizes), measured);
  profile.reading = fit_cost({CostTerm::constant, CostTerm::frames}, lengths, reading);
  profile.parameter_s = median(once) / static_cast<double>(parameter_count(data.chain));
  profile.middling = lengths_of(batches[ranks / 2][options.micro_batches / 2], data.corpus);
  return profile;
}

ChainProfile neutral_profile(const DeviceProfile& profile, const Chain& chain,
                             const BackendSizes& sizes) {
  const std::vector<LayerPlan> plans = plan_chain(chain, profile.middling.frames, sizes);
  const auto transfers = transfer_costs(chain, profile.middling.frames, sizes, default_link(sizes));
  ChainProfile neutral{profile.model, {}};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    LayerProfile& layer = neutral.layers.emplace_back();
    layer.name = profile.layers[i].layer;
    layer.activation_bytes = static_cast<double>(plans[i].output.bytes());
    for (const ParamDecl& param : plans[i].params)
      layer.parameter_bytes += static_cast<double>(element_count(param.shape)) * sizeof(float);
    layer.transfer_ms = 1e3 * transfers[i];
  }
  return neutral;
}

}  // namespace penstock
