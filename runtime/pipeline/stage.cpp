#include "runtime/pipeline/stage.h"

#include <algorithm>
#include <numeric>

#include "partition/schedules/forward_only.h"
#include "partition/schedules/make_schedule.h"
#include "partition/validator.h"
#include "runtime/pipeline/nccl_messages.h"
#include "runtime/pipeline/staged_messages.h"

namespace penstock {
namespace {

// Of an evaluation, micro-batches that are laid out at once: enough that the pipeline's filling and
// draining don't count.
constexpr std::size_t kWindow = 64;

// Parameters and state do not depend on lengths: any input tells them.
std::vector<LayerPlan> plans_for_any_input(const Chain& chain, const BackendSizes& sizes) {
  return plan_chain(chain, std::vector<std::int64_t>{100}, sizes);
}

std::vector<LayerPlan> slice(const std::vector<LayerPlan>& plans, std::size_t first,
                             std::size_t last) {
  return {plans.begin() + first, plans.begin() + last};
}

ChunkRole role_of(const StageOptions& options) {
  return {.sends_input_gradient = options.stage > 0,
          .sends_output = options.stage + 1 < options.stages,
          .parts_backward = parts_backward(make_schedule(options.schedule, options.stages, 1))};
}

StoreOptions store_of(const StageOptions& options) {
  StoreOptions store = options.store;
  store.kinds.compute = options.sizes.compute;
  return store;
}

/// Null where the pipeline's own messages reach the memory.
std::unique_ptr<Communicator> make_links(Communicator& pipeline, Backend& backend,
                                         Stream& computing, DeviceLinks links) {
  if (backend.kind() == DeviceKind::cpu) return nullptr;
  if (links == DeviceLinks::nccl)
    return std::make_unique<NcclMessages>(pipeline, backend, computing);
  return std::make_unique<StagedMessages>(pipeline, backend, computing);
}

}  // namespace

Stage::Stage(Backend& backend, Stream& stream, Communicator& pipeline, const Chain& chain,
             const StageOptions& options)
    : backend_(backend),
      stream_(stream),
      options_(options),
      layers_(LayerRange(chain.layers)
                  .subspan(options.first_layer, options.last_layer - options.first_layer)),
      plans_(plans_for_any_input(chain, options.sizes)),
      parameters_(backend, stream, slice(plans_, options.first_layer, options.last_layer),
                  norm_blocks(std::span(plans_).first(options.first_layer)), store_of(options),
                  options.seed),
      chunk_(backend, stream, parameters_,
             {LayerRange(chain.layers).first(options.first_layer), layers_, chain.features,
              std::span(plans_).subspan(options.first_layer, layers_.size()), role_of(options),
              options.sizes}),
      own_links_(make_links(pipeline, backend, stream, options.links)),
      pipeline_(own_links_ ? *own_links_ : pipeline),
      executor_(pipeline_, {&chunk_}, {options.stage}) {
  plans_ = slice(plans_, options.first_layer, options.last_layer);
}

bool Stage::needs_targets() const {
  return std::any_of(plans_.begin(), plans_.end(), [](const auto& p) { return p.needs_targets; });
}

const Schedule& Stage::schedule(Mode mode, int micro_batches) {
  Schedule& schedule = schedules_[{mode, micro_batches}];
  if (!schedule.chunk_rank.empty()) return schedule;
  std::vector<int> chunk_ranks(options_.stages);
  std::iota(chunk_ranks.begin(), chunk_ranks.end(), 0);
  schedule = mode == Mode::train ? make_schedule(options_.schedule, options_.stages, micro_batches)
                                 : forward_only(chunk_ranks, micro_batches);
  validate(schedule);  // nothing runs that could hang
  return schedule;
}

StepSums Stage::run(const StepWork& step, Mode mode, const ExecutorCallbacks& callbacks) {
  const int micro_batches = static_cast<int>(step.micro_batches.size());
  return std::move(executor_.run(schedule(mode, micro_batches), step, mode, callbacks).front());
}

StepSums Stage::train(const StepWork& step, const ExecutorCallbacks& callbacks) {
  parameters_.zero_gradients(stream_);
  if (step.micro_batches.empty())  // more replicas than micro-batches are left in the epoch
    return {std::vector<double>(step.global_micro_batches),
            std::vector<double>(step.global_micro_batches * chunk_.sums())};
  return run(step, Mode::train, callbacks);
}

void Stage::complete(StepSums& sums) {
  for (const auto& transfer : sums.leaving) wait(pipeline_, *transfer);
  sums.leaving.clear();
  chunk_.finish();
  for (std::size_t place = 0; place < sums.utterance_losses.size(); ++place) {
    const std::vector<double>& losses = sums.utterance_losses[place];
    sums.losses[place] = std::accumulate(losses.begin(), losses.end(), 0.0);
  }
}

StepSums Stage::evaluate(const StepWork& step, const ExecutorCallbacks& callbacks) {
  StepSums sums{std::vector<double>(step.global_micro_batches), {}};
  StepWork window;
  window.seed = step.seed;
  window.epoch = step.epoch;
  window.scale = step.scale;
  window.global_micro_batches = step.global_micro_batches;
  const std::vector<MicroBatchWork>& all = step.micro_batches;
  for (std::size_t begin = 0; begin < all.size(); begin += kWindow) {
    const std::size_t end = std::min(begin + kWindow, all.size());
    window.micro_batches.assign(all.begin() + begin, all.begin() + end);
    StepSums found = run(window, Mode::evaluate, callbacks);
    complete(found);
    for (const MicroBatchWork& m : window.micro_batches)
      sums.losses[m.place] = found.losses[m.place];
  }
  return sums;
}

void Stage::commit_state(std::span<const double> sums, int micro_batches) {
  std::vector<Buffer> memory;
  std::vector<Tensor> host;
  for (std::size_t state = 0; state < parameters_.states().size(); ++state) {
    const Tensor& device = parameters_.state(state);
    memory.push_back(host_buffer(device.bytes()));
    host.push_back({memory.back().data(), device.dtype, device.shape});
    backend_.copy_out(stream_, host.back().data, device.data, device.bytes());
  }
  backend_.finish(stream_);

  std::size_t column = 0, state = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    std::vector<double> rows;
    for (int m = 0; m < micro_batches; ++m) {
      const auto row = sums.subspan(m * chunk_.sums() + column, plans_[i].sums);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    column += plans_[i].sums;
    const auto own = std::span(host).subspan(state, plans_[i].state.size());
    if (!own.empty()) layers_[i]->commit_state(rows, own);
    state += own.size();
  }
  for (std::size_t i = 0; i < host.size(); ++i)
    backend_.copy_in(stream_, parameters_.state(i).data, host[i].data, host[i].bytes());
}

}  // namespace penstock
