#include "runtime/pipeline/stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/quantities.h"
#include "layers/layer.h"
#include "layers/ops/elementwise.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/validator/validator.h"
#include "runtime/pipeline/nccl_messages.h"
#include "runtime/pipeline/staged_messages.h"

// A stage puts together what its rank computes with: the layers that the cut gives to its chunks,
// their parameters, a Chunk for each, and the communicator that reaches the neighbours' memory. The
// executor then runs the schedule's list. Schedules are made and validated once for each mode and
// number of micro-batches: the last step of an epoch may have fewer.
//
// Results of a step arrive in two parts. run() returns when the list is done, while sends and
// kernels may still be in flight. complete() waits for both and adds the losses of utterances up,
// in their order, so that the sum's bits don't depend on timing.

namespace penstock::runtime {
namespace {

// Micro-batches that an evaluation runs at once. The number is large enough to make the pipeline's
// filling and draining negligible.
constexpr std::size_t kWindow = 64;

StoreOptions store_of(const StageOptions& options) {
  StoreOptions store = options.store;
  store.kinds.compute = options.sizes.compute;
  return store;
}

/// Returns null if the pipeline's own messages can access the memory, as on a CPU.
std::unique_ptr<comm::Communicator> make_links(comm::Communicator& pipeline,
                                               layers::Backend& backend, layers::Stream& computing,
                                               DeviceLinks links,
                                               const std::vector<int>& chunk_ranks) {
  if (backend.kind() == layers::DeviceKind::cpu) return nullptr;
  if (links == DeviceLinks::nccl)
    return std::make_unique<NcclMessages>(pipeline, chunk_ranks, backend, computing);
  return std::make_unique<StagedMessages>(pipeline, backend, computing);
}

/// The addresses stay valid, because a deque does not move its elements when it grows.
std::vector<Chunk*> pointers(std::deque<Chunk>& chunks) {
  std::vector<Chunk*> found;
  for (Chunk& chunk : chunks) found.push_back(&chunk);
  return found;
}

}  // namespace

Stage::Stage(layers::Backend& backend, layers::Stream& stream, comm::Communicator& pipeline,
             const partition::LayerSequence& sequence, const StageOptions& options)
    : backend_(backend),
      stream_(stream),
      options_(options),
      chunk_ranks_(options.schedule.chunk_ranks()),
      local_(local_layers(sequence, options.sizes, options.cut, chunk_ranks_, options.stage)),
      parameters_(backend, stream, local_.plans, local_.norm_blocks, store_of(options),
                  options.seed),
      chunks_(make_chunks(sequence)),
      own_links_(make_links(pipeline, backend, stream, options.links, chunk_ranks_)),
      pipeline_(own_links_ ? *own_links_ : pipeline),
      executor_(pipeline_, pointers(chunks_), local_.chunks),
      host_pipeline_(pipeline),
      sequence_(sequence) {}

// A chunk also sees the layers before it, of whatever rank. They tell it the shape of its input, so
// no message has to carry shapes.
std::deque<Chunk> Stage::make_chunks(const partition::LayerSequence& sequence) {
  const partition::LayerRange all(sequence.layers);
  const bool split = options_.schedule.splits_backward();
  std::deque<Chunk> chunks;
  for (std::size_t i = 0; i < local_.chunks.size(); ++i) {
    const int chunk = local_.chunks[i], first = options_.cut[chunk], last = options_.cut[chunk + 1];
    Chunk::Options part;
    part.before = all.first(first);
    part.layers = all.subspan(first, last - first);
    part.features = sequence.features;
    part.role = {.sends_input_gradient = first > 0,
                 .sends_output = last < sequence.size(),
                 .splits_backward = split,
                 .recomputes = partition::chosen_among(options_.recompute, first, last)};
    part.sizes = options_.sizes;
    part.beam = sequence.beam;
    part.first_layer = local_.first_layers[i];
    part.first_sum = local_.first_sums[i];
    part.row_of_sums = local_.sums;
    chunks.emplace_back(backend_, stream_, parameters_, scratch_, part);
  }
  return chunks;
}

// Layers may read parameters in 16 bits, which are widened on the device first.
std::vector<layers::HostParameter> Stage::last_parameters() const {
  std::vector<layers::HostParameter> parameters;
  for (const layers::Tensor& weight : parameters_.params(local_.layers.size() - 1).weights) {
    layers::HostParameter& parameter = parameters.emplace_back();
    parameter.shape = weight.shape;
    parameter.values.resize(static_cast<std::size_t>(weight.size()));
    const layers::Buffer wide = backend_.allocate(parameter.values.size() * sizeof(float));
    backend_.run(stream_, layers::Cast{weight, {wide.data(), layers::DType::f32, weight.shape}});
    backend_.copy_out(stream_, parameter.values.data(), wide.data(), wide.bytes());
    backend_.synchronize(stream_);
  }
  return parameters;
}

bool Stage::ties() const {
  const auto plans = partition::plan_without_frames(sequence_, options_.sizes);
  return std::ranges::any_of(plans, [](const layers::LayerPlan& plan) {
    return std::ranges::any_of(plan.params, &layers::ParamDecl::tied);
  });
}

partition::ParameterLayout Stage::layout_of(int stage) const {
  const LocalLayers held =
      local_layers(sequence_, options_.sizes, options_.cut, chunk_ranks_, stage);
  return partition::lay_out_parameters(held.plans, parameters_.layout().kinds, 0, held.norm_blocks);
}

void Stage::measure(LayerTimes* times) {
  const std::vector<double> zeros(local_.layers.size());
  if (times != nullptr) *times = {zeros, zeros, zeros};
  for (Chunk& chunk : chunks_) chunk.measure(times);
}

void Stage::reserve(std::span<const partition::ChunkBuffers> buffers) {
  std::size_t scratch = 0;  // chunks share one scratch memory
  for (const partition::ChunkBuffers& of_chunk : buffers)
    scratch = std::max(scratch, of_chunk.scratch);
  scratch_.reserve(backend_, scratch);
  for (std::size_t i = 0; i < chunks_.size(); ++i) chunks_[i].reserve(buffers[i]);
}

const partition::Schedule& Stage::schedule(layers::Mode mode, int micro_batches) {
  partition::Schedule& schedule = schedules_[{mode, micro_batches}];
  if (!schedule.chunk_rank.empty()) return schedule;
  schedule = mode == layers::Mode::train ? options_.schedule.of(micro_batches)
                                         : partition::forward_only(chunk_ranks_, micro_batches);
  partition::validate(schedule);  // a schedule that could deadlock is rejected
  return schedule;
}

/// Returns empty sums: losses of all the step's micro-batches, and state rows of this replica's
/// own.
StepSums Stage::no_sums(const StepWork& step, layers::Mode mode) const {
  const auto rows = static_cast<std::size_t>(step.global_micro_batches);
  StepSums sums{std::vector<double>(rows), {}};
  sums.utterance_losses.resize(rows);
  if (mode == layers::Mode::train) sums.state.assign(step.micro_batches.size() * local_.sums, 0.0);
  return sums;
}

StepSums Stage::run(const StepWork& step, layers::Mode mode, const ExecutorCallbacks& callbacks) {
  const int micro_batches = static_cast<int>(step.micro_batches.size());
  StepSums sums = no_sums(step, mode);
  executor_.run(schedule(mode, micro_batches), step, mode, callbacks, sums);
  return sums;
}

// The gradients are zeroed at the first backward and not at the step's beginning: until then the
// previous step's are kept.
StepSums Stage::train(const StepWork& step, const ExecutorCallbacks& callbacks) {
  ExecutorCallbacks with = callbacks;
  with.gradients_begin = [&] {
    if (callbacks.gradients_begin) callbacks.gradients_begin();
    parameters_.zero_gradients(stream_);
  };
  if (!step.micro_batches.empty()) return run(step, layers::Mode::train, with);
  with.gradients_begin();  // the epoch's last step has fewer micro-batches than replicas
  return no_sums(step, layers::Mode::train);
}

void Stage::prefetch(const StepWork& next, const ReadFeatures& read_features) {
  if (!first() || next.micro_batches.empty()) return;
  chunks_.front().prefetch(
      next.micro_batches.front(),
      [&](std::span<float> x_FC, std::span<float> weights) { read_features(0, x_FC, weights); });
}

void Stage::complete(StepSums& sums) {
  for (const auto& transfer : sums.leaving) comm::wait(pipeline_, *transfer);
  sums.leaving.clear();
  backend_.synchronize(stream_);
  sums.auxiliary_losses.clear();
  for (std::size_t place = 0; place < sums.utterance_losses.size(); ++place) {
    const std::vector<double>& losses = sums.utterance_losses[place];
    sums.losses[place] = std::accumulate(losses.begin(), losses.end(), 0.0);
  }
}

// Each window drains the pipeline before the next one fills it, so at most `size` micro-batches
// have results in flight. A loss goes to its micro-batch's canonical place, whatever the window.
StepSums Stage::run_windows(const StepWork& step, std::size_t size, const RunWindow& run_window) {
  StepSums sums{std::vector<double>(step.global_micro_batches), {}};
  StepWork window;
  window.seed = step.seed;
  window.epoch = step.epoch;
  window.scale = step.scale;
  window.global_micro_batches = step.global_micro_batches;
  const std::vector<MicroBatchWork>& all = step.micro_batches;
  for (std::size_t begin = 0; begin < all.size(); begin += size) {
    const std::size_t end = std::min(begin + size, all.size());
    window.micro_batches.assign(all.begin() + begin, all.begin() + end);
    const StepSums found = run_window(window);
    for (const MicroBatchWork& m : window.micro_batches)
      sums.losses[m.place] = found.losses[m.place];
  }
  return sums;
}

StepSums Stage::evaluate(const StepWork& step, const ExecutorCallbacks& callbacks) {
  return run_windows(step, kWindow, [&](const StepWork& window) {
    StepSums found = run(window, layers::Mode::evaluate, callbacks);
    complete(found);
    return found;
  });
}

StepSums Stage::write_texts(const StepWork& step, const ExecutorCallbacks& callbacks,
                            const layers::TextWriting& writing, const TextGeneration::Heard& heard,
                            const std::function<void()>& progress) {
  TextGeneration generation(
      {backend_, stream_, pipeline_, host_pipeline_, sequence_, options_.sizes, options_.cut,
       chunk_ranks_, local_, parameters_, chunks_, scratch_},
      writing, heard, progress);
  ExecutorCallbacks with = callbacks;
  with.caches = true;
  with.text = true;
  if (writing.scored_ctc_weight() > 0)
    with.frames = [&](const MicroBatchWork& m, const layers::Frames& frames) {
      generation.read_frames(m, frames);
    };
  with.logits = [&](const MicroBatchWork& m, const layers::Frames& rows) {
    generation.read(m, rows);
    if (callbacks.logits) callbacks.logits(m, rows);
  };
  return run_windows(step, chunk_ranks_.size(), [&](const StepWork& window) {
    generation.begin(window.micro_batches);
    StepSums found = run(window, layers::Mode::evaluate, with);
    complete(found);
    generation.write();
    return found;
  });
}

// Sums form a matrix with a row for each micro-batch and a range of columns for each layer:
//
//                layer 0    layer 1       layer 2
//   m = 0        s s        (none)        s s s s
//   m = 1        s s                      s s s s
//
// A layer pools its own columns, such as those from which batch norm derives mean and variance. The
// result is one row of the same columns, which commit_state() takes.
std::vector<double> Stage::pool_state(const StepSums& sums,
                                      const std::vector<int>& micro_batches) const {
  std::vector<double> rows, pooled;
  for (const int m : micro_batches) {
    const auto begin = sums.state.begin() + m * static_cast<std::ptrdiff_t>(local_.sums);
    rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(local_.sums));
  }
  std::size_t column = 0;
  for (std::size_t i = 0; i < local_.layers.size(); ++i) {
    const std::size_t count = local_.plans[i].sums;
    if (count == 0) continue;
    const std::vector<double> row =
        local_.layers[i]->pool(layers::columns(rows, local_.sums, column, count));
    if (row.size() != count)
      throw ShapeError(fmt::format("{} leaves {} for its state, and pools {} of them",
                                   local_.layers[i]->name(), counted(count, "number"), row.size()));
    pooled.insert(pooled.end(), row.begin(), row.end());
    column += count;
  }
  return pooled;
}

void Stage::commit_state(std::span<const double> rows) {
  layers::Context context{backend_, stream_};
  std::size_t column = 0;
  for (std::size_t i = 0; i < local_.layers.size(); ++i) {
    const std::size_t count = local_.plans[i].sums;
    const auto state = parameters_.params(i).state;
    if (!state.empty())
      local_.layers[i]->commit_state(context, layers::columns(rows, local_.sums, column, count),
                                     state);
    column += count;
  }
}

}  // namespace penstock::runtime
