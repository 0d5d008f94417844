#include "tests/support/runtime/training_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <random>
#include <stdexcept>

#include "base/error.h"
#include "comm/threads.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/plan/planner.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/optim/optimizer.h"
#include "runtime/pipeline/session.h"
#include "runtime/trainer/training_step.h"
#include "tests/support/layers/poisoned_layer.h"
#include "tests/support/layers/tensors.h"
#include "tests/support/partition/found_lists.h"

namespace penstock::test {
namespace {

// Makes the features of a job's micro-batches, in the order of its steps, as a FeatureFeed does.
// They depend on the utterance alone, so that any packing reads the same.
class Noise {
 public:
  Noise(std::vector<runtime::StepWork> steps, int features, const TrainingJob& job)
      : steps_(std::move(steps)),
        features_(features),
        poisoned_step_(job.poisoned_step),
        unreadable_step_(job.unreadable_step) {}

  const runtime::StepWork& step(int s) const { return steps_[static_cast<std::size_t>(s)]; }
  const runtime::StepWork* next(int s) const {
    return s + 1 < std::ssize(steps_) ? &step(s + 1) : nullptr;
  }

  runtime::ReadFeatures reader() {
    return [this](int, std::span<float> x_FC, std::span<float> weights) {
      while (micro_batch_ == step(at_).micro_batches.size()) ++at_, micro_batch_ = 0;
      if (at_ == unreadable_step_) throw Error("these features can't be read");
      fill(step(at_).micro_batches[micro_batch_++], x_FC);
      std::ranges::fill(weights, 1.0f);
    };
  }

 private:
  void fill(const runtime::MicroBatchWork& m, std::span<float> x_FC) const {
    std::size_t at = 0;
    for (std::size_t u = 0; u < m.lengths.size(); ++u) {
      std::mt19937_64 random(m.utterances[u]);
      std::normal_distribution<float> normal;
      for (std::int64_t i = 0; i < m.lengths[u] * features_; ++i)
        x_FC[at++] = at_ == poisoned_step_ ? std::nanf("") : normal(random);
    }
  }

  std::vector<runtime::StepWork> steps_;
  int features_, poisoned_step_, unreadable_step_;
  int at_ = 0;
  std::size_t micro_batch_ = 0;
};

std::vector<float> numbers(layers::Backend& backend, layers::Stream& stream,
                           const layers::Tensor& tensor) {
  const layers::Buffer host = layers::host_buffer(tensor.bytes());
  backend.copy_out(stream, host.data(), tensor.data, tensor.bytes());
  backend.synchronize(stream);
  const std::vector<double> wide = test::numbers({host.data(), tensor.dtype, tensor.shape});
  return {wide.begin(), wide.end()};
}

/// Copies what the rank owns to the outcome; NaN where it owns nothing.
void collect(layers::Backend& backend, layers::Stream& stream, const runtime::ParameterStore& store,
             const partition::SlotCounts& slots, TrainingOutcome& outcome) {
  for (const partition::ParameterPiece& piece : store.owned()) {
    const partition::ParameterEntry& p = store.parameters()[piece.parameter];
    const auto add = [&](const std::string& name, const layers::Tensor& tensor) {
      std::vector<float>& whole = outcome.tensors[name];
      whole.resize(static_cast<std::size_t>(p.elements), std::nanf(""));
      std::ranges::copy(numbers(backend, stream, tensor), whole.begin() + piece.first);
    };
    add(p.decl.name, store.weight(piece));
    if (slots.averages > 0) add(p.decl.name + "#average", store.average(piece));
    for (int slot = 0; slot < slots.of_elements; ++slot) {
      const std::string name = p.decl.name + "#" + std::to_string(slot);
      add(name, store.slot(piece, slot));
      const layers::Tensor scales = store.scales(piece, slot);
      if (scales.data == nullptr) continue;
      std::vector<float>& whole = outcome.tensors[name + "#scales"];
      whole.resize(static_cast<std::size_t>(layers::code_blocks(p.elements)), std::nanf(""));
      std::ranges::copy(numbers(backend, stream, scales),
                        whole.begin() + piece.first / layers::kCodeBlock);
    }
  }
  for (const partition::ParameterEntry& p : store.parameters())
    if (!p.decl.updated())
      outcome.tensors[p.decl.name] = numbers(backend, stream, store.read_by_layers(p));
  for (int slot = 0; slot < slots.of_parameters; ++slot)
    for (const partition::ParameterEntry& p : store.parameters())
      outcome.tensors[p.decl.name + "#number" + std::to_string(slot)] =
          numbers(backend, stream, store.number(p, slot));
  for (std::size_t i = 0; i < store.states().size(); ++i)
    outcome.tensors[store.states()[i].decl.name] = numbers(backend, stream, store.state(i));
}

void put_together(const TrainingOutcome& part, TrainingOutcome& whole) {
  for (const auto& [name, values] : part.tensors) {
    const auto [at, fresh] = whole.tensors.emplace(name, values);
    for (std::size_t i = 0; !fresh && i < values.size(); ++i)
      if (!std::isnan(values[i])) at->second[i] = values[i];
  }
}

partition::LayerSequence sequence_of(const TrainingJob& job) {
  configs::Config config;
  config.model = job.model;
  config.optimizer = job.optimizer;
  if (job.selective) config.pipeline.recompute = partition::kSelective;
  partition::LayerSequence sequence = partition::build_trained_model(config, job.labels);
  if (job.poisoned_layer >= 0) {
    auto& layer = sequence.layers.at(job.poisoned_layer);
    layer = std::make_unique<PoisonedLayer>(std::move(layer), job.poisoned_call);
  }
  return sequence;
}

/// Ranks that send over NCCL take the devices in turn.
std::unique_ptr<layers::Backend> backend_of(const TrainingJob& job,
                                            const comm::Communicator& world) {
  if (job.device == layers::DeviceKind::cpu) return layers::make_cpu_backend();
  return layers::make_cuda_backend(
      job.links == runtime::DeviceLinks::nccl ? world.rank() % layers::cuda_device_count() : 0,
      runtime::fp32_products(job.precision));
}

partition::SlotCounts slots_of(const TrainingJob& job) {
  configs::Config config;
  config.optimizer = job.optimizer;
  config.trainer.ema = job.ema;
  return runtime::training_slots(config).counts();
}

std::int64_t frames_of(const runtime::MicroBatchWork& m) {
  return std::accumulate(m.lengths.begin(), m.lengths.end(), std::int64_t{0});
}

partition::RunSchedule run_schedule(const TrainingJob& job) {
  if (job.schedule != partition::kFound) return partition::RunSchedule(job.schedule, job.stages);
  const auto micro_batches = static_cast<int>(ragged_work(0, 1, 2).micro_batches.size());
  const int own = partition::micro_batches_per_replica(micro_batches, job.lanes, job.replicas);
  return found_lists(job.stages, own, partition::order_of_replica(job.order, job.replicas, own));
}

void add(const runtime::StepReport& report, TrainingOutcome& outcome) {
  outcome.losses.push_back(report.loss);
  outcome.norms.push_back(report.gradient_norm);
  outcome.scales.push_back(report.loss_scale);
}

/// Every chunk has as many layers as the others, or one more.
runtime::StageOptions stage_options(const TrainingJob& job,
                                    const partition::LayerSequence& sequence,
                                    const partition::StageReplica& here) {
  const std::size_t layers = sequence.layers.size();
  runtime::StageOptions options;
  options.stage = here.stage;
  options.schedule = run_schedule(job).resident(job.resident);
  options.recompute.assign(layers, job.recompute);
  for (const int layer : job.recomputed_layers) options.recompute.at(layer) = true;
  const std::size_t chunks = partition::chunk_ranks(job.schedule, job.stages).size();
  for (std::size_t chunk = 0; chunk <= chunks; ++chunk)
    options.cut.push_back(static_cast<int>(layers * chunk / chunks));
  std::ranges::copy(job.cut, options.cut.begin() + 1);
  options.store.lanes = job.lanes / job.replicas;
  options.store.slots = slots_of(job);
  if (job.shard) options.store.kinds.sharing = {job.replicas, job.bucket_bytes};
  options.store.kinds.slots = runtime::slot_format(job.optimizer);
  options.store.replica = here.replica;
  options.seed = 5;
  options.sizes = {job.device, runtime::compute_type(job.precision)};
  options.links = job.links;
  return options;
}

runtime::TrainingStep::Options step_options(const TrainingJob& job,
                                            const partition::LayerSequence& sequence) {
  runtime::TrainingStep::Options options;
  options.optimizer = job.optimizer;
  options.precision = job.precision;
  options.seed = 5;
  options.bucket_bytes = job.bucket_bytes;
  options.model_blocks =
      partition::norm_blocks(partition::plan_layers(sequence, std::vector<std::int64_t>{50}, {}));
  options.lanes_of.assign(job.replicas, job.lanes / job.replicas);
  options.links = job.links;
  options.reduction = job.reduction;
  options.post_validation = job.post_validation;
  options.ema = job.ema;
  options.trusted_after = 2;
  return options;
}

/// At the first gradient of the second step, while messages are under way.
void fail_within(runtime::TrainingStep& step, const runtime::TrainingClock& clock) {
  step.watch([&clock](const partition::Action& action, runtime::Moment) {
    const bool gradient =
        partition::computes(action.kind) && action.kind != partition::ActionKind::forward;
    if (clock.step == 1 && gradient) throw std::runtime_error("this rank fails");
  });
}

/// Gives utterances languages in turns: none, the first, the second, ….
runtime::StepWork with_languages(runtime::StepWork work, std::ptrdiff_t languages) {
  if (languages == 0) return work;
  for (runtime::MicroBatchWork& m : work.micro_batches)
    for (const std::uint64_t id : m.utterances)
      m.prompts.push_back(
          static_cast<std::int32_t>(id % static_cast<std::uint64_t>(languages + 1)));
  return work;
}

TrainingOutcome train(const TrainingJob& job, const partition::LayerSequence& sequence,
                      comm::Communicator& world) {
  const int lanes_each = job.lanes / job.replicas;
  const auto backend = backend_of(job, world);
  partition::Plan plan;
  plan.ranks = partition::neighbouring_stages(job.stages, job.replicas);
  const runtime::RankGrid grid(world, plan);
  runtime::TrainingStep* training = nullptr;
  const auto stream = backend->make_stream([&] {
    if (training != nullptr) training->progress();
  });
  const runtime::StageOptions options = stage_options(job, sequence, grid.here());
  runtime::Stage stage(*backend, *stream, grid.pipeline(), sequence, options);
  runtime::TrainingStep::Options with = step_options(job, sequence);
  if (job.notices) with.notices = [&] { return job.notices(world.rank()); };
  runtime::TrainingStep step(*backend, *stream, grid, stage, with);
  training = &step;

  TrainingOutcome outcome;
  runtime::TrainingClock clock;
  std::vector<runtime::StepWork> steps;
  for (int s = 0; s < job.steps; ++s)
    steps.push_back(share_of(
        in_order(with_languages(ragged_work(s, job.lanes, job.labels, job.shrink, job.lengths),
                                std::ssize(job.model.networks.languages)),
                 job.order),
        grid.here().replica * lanes_each, lanes_each));
  Noise noise(std::move(steps), sequence.features, job);
  if (job.failing_rank == world.rank()) fail_within(step, clock);
  comm::guarded(world.shutdown(), [&] {
    for (int s = 0; s < job.steps; ++s)
      for (const runtime::StepReport& report :
           step.run(noise.step(s), noise.reader(), clock, noise.next(s))) {
        add(report, outcome);
        if (job.reported) job.reported(report);
      }
    if (const auto report = step.flush(clock)) add(*report, outcome);
  });
  outcome.optimistic = step.optimistic();
  outcome.rolled_back = step.rolled_back();
  if (grid.here().replica == 0 || job.shard)
    collect(*backend, *stream, stage.parameters(), options.store.slots, outcome);
  return outcome;
}

}  // namespace

TrainingJob small_job() {
  TrainingJob job;
  job.model = {.features = 17,
               .family = layers::DeepSpeech2Options{
                   .channels = 3, .hidden = 9, .layers = 2, .dropout = 0.2}};
  job.optimizer.learning_rate = 0.01;
  return job;
}

void expect_equal(const TrainingOutcome& a, const TrainingOutcome& b, const std::string& what) {
  EXPECT_EQ(a.losses, b.losses) << what;
  EXPECT_EQ(a.norms, b.norms) << what;
  EXPECT_EQ(a.scales, b.scales) << what;
  ASSERT_EQ(a.tensors.size(), b.tensors.size()) << what;
  for (const auto& [name, values] : a.tensors)
    EXPECT_EQ(values, b.tensors.at(name)) << name << ", " << what;
}

void expect_equal_layouts(TrainingJob job) {
  const TrainingOutcome alone = train_on_noise(job);
  for (const auto& [stages, replicas] : {std::pair{3, 1}, {1, 2}, {2, 2}})
    for (const bool shard : {false, true}) {
      if (shard && replicas == 1) continue;
      job.stages = stages;
      job.replicas = replicas;
      job.shard = shard;
      expect_equal(train_on_noise(job), alone,
                   fmt::format("{} × {}{}", stages, replicas, shard ? ", shared" : ""));
    }
}

runtime::StepWork ragged_work(int step, int lanes, int labels, int shrink,
                              const std::vector<std::vector<std::int64_t>>& given) {
  std::vector<std::vector<std::int64_t>> lengths_of_all = given;
  if (given.empty()) lengths_of_all = {{61, 23}, {40}, {37, 52, 31}, {75}, {29, 44}};
  std::mt19937 random(step);
  runtime::StepWork work;
  work.seed = 11;
  work.epoch = step / 2;
  std::uint64_t id = 100 * step;
  for (const auto& lengths : lengths_of_all) {
    runtime::MicroBatchWork& m = work.micro_batches.emplace_back();
    m.place = static_cast<int>(work.micro_batches.size()) - 1;
    m.lane = m.place % lanes;
    for (const std::int64_t whole : lengths) {
      const std::int64_t length = m.lengths.emplace_back(whole / shrink);
      m.utterances.push_back(id++);
      m.label_lengths.push_back(static_cast<std::int32_t>(length / 10));
      for (int k = 0; k < length / 10; ++k)
        m.labels.push_back(1 + static_cast<int>(random() % (labels - 1)));
    }
  }
  work.global_micro_batches = static_cast<int>(work.micro_batches.size());
  work.scale = 1.0 / static_cast<double>(id - 100 * step);
  return work;
}

runtime::StepWork in_order(const runtime::StepWork& work, const std::vector<int>& order) {
  if (order.empty()) return work;
  std::vector<runtime::MicroBatchWork> longest = work.micro_batches;
  std::ranges::stable_sort(longest, std::greater{}, frames_of);
  runtime::StepWork ordered = work;
  for (std::size_t place = 0; place < order.size(); ++place) {
    ordered.micro_batches[place] = longest[static_cast<std::size_t>(order[place])];
    ordered.micro_batches[place].place = static_cast<int>(place);
  }
  return ordered;
}

runtime::StepWork share_of(const runtime::StepWork& work, int first, int count) {
  runtime::StepWork share = work;
  std::erase_if(share.micro_batches, [&](const runtime::MicroBatchWork& m) {
    return m.lane < first || m.lane >= first + count;
  });
  for (runtime::MicroBatchWork& m : share.micro_batches) m.lane -= first;
  return share;
}

double clip_behind_plain_steps(TrainingJob job) {
  const auto norms_with = [&](double clip) {
    job.optimizer.clip_norm = clip;
    return train_on_noise(job).norms;
  };
  for (const double clip : norms_with(0)) {
    const std::vector<double> norms = norms_with(clip);
    for (std::size_t step = 2; step < norms.size(); ++step)
      if (norms[step] > clip && std::max(norms[step - 1], norms[step - 2]) < clip) return clip;
  }
  return 0;
}

TrainingOutcome train_rank(const TrainingJob& job, comm::Communicator& world) {
  return train(job, sequence_of(job), world);
}

TrainingOutcome train_on_noise(const TrainingJob& job) {
  const partition::LayerSequence sequence = sequence_of(job);
  TrainingOutcome outcome;
  std::mutex guard;
  comm::run_as_threads({.ranks = job.stages * job.replicas}, [&](comm::Communicator& world) {
    TrainingOutcome own = train(job, sequence, world);
    const std::lock_guard lock(guard);
    put_together(own, outcome);
    if (world.rank() > 0) return;
    outcome.losses = own.losses;
    outcome.norms = own.norms;
    outcome.scales = own.scales;
    outcome.optimistic = own.optimistic;
    outcome.rolled_back = own.rolled_back;
  });
  return outcome;
}

}  // namespace penstock::test
