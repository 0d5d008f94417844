#include "runtime/pipeline/stage.h"

#include <algorithm>
#include <numeric>

#include "partition/in_flight.h"
#include "partition/schedules/forward_only.h"
#include "partition/schedules/make_schedule.h"
#include "partition/validator.h"

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

}  // namespace

std::int64_t norm_blocks(std::span<const LayerPlan> plans) {
  std::int64_t blocks = 0;
  for (const LayerPlan& plan : plans)
    for (const ParamDecl& p : plan.params) blocks += norm_blocks(element_count(p.shape));
  return blocks;
}

Stage::Stage(Backend& backend, Stream& stream, Communicator& pipeline, const Chain& chain,
             const StageOptions& options)
    : backend_(backend),
      stream_(stream),
      options_(options),
      layers_(LayerRange(chain.layers)
                  .subspan(options.first_layer, options.last_layer - options.first_layer)),
      plans_(plans_for_any_input(chain, options.sizes)),
      parameters_(backend, stream, slice(plans_, options.first_layer, options.last_layer),
                  norm_blocks(std::span(plans_).first(options.first_layer)), options.store,
                  options.seed),
      chunk_(backend, stream, parameters_,
             {LayerRange(chain.layers).first(options.first_layer), layers_, chain.features,
              std::span(plans_).subspan(options.first_layer, layers_.size()),
              StageEnds{options.stage > 0, options.stage + 1 < options.stages}, options.sizes}),
      executor_(pipeline, {&chunk_}, {options.stage}) {
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

StepSums Stage::evaluate(const StepWork& step, const ExecutorCallbacks& callbacks) {
  StepSums sums{std::vector<double>(step.global_micro_batches), {}};
  StepWork window{step.seed, step.epoch, step.scale, step.global_micro_batches, {}};
  const std::vector<MicroBatchWork>& all = step.micro_batches;
  for (std::size_t begin = 0; begin < all.size(); begin += kWindow) {
    const std::size_t end = std::min(begin + kWindow, all.size());
    window.micro_batches.assign(all.begin() + begin, all.begin() + end);
    const StepSums found = run(window, Mode::evaluate, callbacks);
    for (const MicroBatchWork& m : window.micro_batches)
      sums.losses[m.place] = found.losses[m.place];
  }
  return sums;
}

void Stage::commit_state(std::span<const double> sums, int micro_batches) {
  const std::size_t width = chunk_.sums();
  std::size_t column = 0, state = 0;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    std::vector<double> rows;
    for (int m = 0; m < micro_batches; ++m) {
      const auto row = sums.subspan(m * width + column, plans_[i].sums);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    column += plans_[i].sums;

    std::vector<Buffer> memory;
    std::vector<Tensor> host;
    for (std::size_t k = 0; k < plans_[i].state.size(); ++k) {
      const Tensor& device = parameters_.state(state + k);
      memory.push_back(host_buffer(device.bytes()));
      host.push_back({memory.back().data(), device.dtype, device.shape});
      backend_.copy_out(stream_, host.back().data, device.data, device.bytes());
    }
    if (host.empty()) continue;
    backend_.finish(stream_);
    layers_[i]->commit_state(rows, host);
    for (const Tensor& tensor : host)
      backend_.copy_in(stream_, parameters_.state(state++).data, tensor.data, tensor.bytes());
    backend_.finish(stream_);
  }
}

void Stage::reserve(std::span<const StepWork> steps) {
  BufferBytes bytes;
  InFlight in_flight;
  for (const StepWork& step : steps) {
    const int micro_batches = static_cast<int>(step.micro_batches.size());
    if (micro_batches == 0) continue;
    for (const MicroBatchWork& work : step.micro_batches)
      bytes.cover(chunk_.lay_out(work, Mode::train), chunk_.ends());
    in_flight.cover(count_in_flight(schedule(Mode::train, micro_batches), options_.stage));
  }
  chunk_.reserve(bytes, in_flight);
}

}  // namespace penstock
