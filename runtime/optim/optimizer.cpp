#include "runtime/optim/optimizer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace penstock::runtime {
namespace {

/// Range of the model's norm blocks from the stage's first to its last one. Blocks of other stages
/// may lie between.
struct BlockRange {
  std::int64_t begin = 0, end = 0;
};

BlockRange blocks_of(const ParameterStore& store) {
  if (store.parameters().empty()) return {};
  const partition::ParameterEntry& last = store.parameters().back();
  return {store.parameters().front().first_block,
          last.first_block + layers::norm_blocks(last.elements)};
}

/// Returns √Σ. All ranks add the blocks in the same order.
double norm_of(std::span<const double> blocks) {
  double sum = 0;
  for (double block : blocks) sum += block;
  return std::sqrt(sum);
}

// Squares and sums an arena block by block on the device, sums over the owners, and then adds the
// blocks of each parameter on the host. A block has one owner, so the sum over owners is exact, and
// the norms have the same bits for any number of replicas.
std::vector<double> norms(layers::Backend& backend, layers::Stream& stream,
                          const ParameterStore& store, const UpdateArguments& with,
                          const layers::Tensor& arena, layers::ArenaOf of) {
  const auto [begin, end] = blocks_of(store);
  std::vector<double> blocks(static_cast<std::size_t>(end - begin));
  const std::size_t bytes = blocks.size() * sizeof(double);
  double* const sums = with.room + begin;
  backend.zero(stream, sums, bytes);
  backend.run(stream, layers::SquaredSums{store.table().all(), arena, with.room, of});
  backend.copy_out(stream, blocks.data(), sums, bytes);
  backend.synchronize(stream);
  if (with.sum_over_owners) with.sum_over_owners(blocks);
  std::vector<double> norms;
  for (const partition::ParameterEntry& p : store.parameters())
    norms.push_back(
        norm_of(std::span(blocks).subspan(p.first_block - begin, layers::norm_blocks(p.elements))));
  return norms;
}

}  // namespace

partition::SlotCounts OptimizerSlots::counts() const {
  return {static_cast<int>(of_elements.size()), static_cast<int>(of_parameters.size()),
          averages ? 1 : 0};
}

std::unique_ptr<Optimizer> make_optimizer(const configs::OptimizerConfig& config) {
  if (config.kind == "adamw") return make_adamw(config);
  if (config.kind == "sgd") return make_sgd(config);
  if (config.kind == "lamb") return make_lamb(config);
  if (config.kind == "novograd") return make_novograd(config);
  throw ConfigError(
      fmt::format("optimizer.kind is \"{}\", expected adamw, sgd, lamb or novograd", config.kind));
}

OptimizerSlots training_slots(const configs::Config& config) {
  OptimizerSlots slots = make_optimizer(config.optimizer)->slots();
  slots.averages = config.trainer.ema > 0;
  return slots;
}

layers::SlotCoding slot_coding(const ParameterStore& store, const UpdateArguments& with) {
  const int slots = store.slots_of_elements();
  return {.random = layers::slot_random(with.seed, with.step),
          .first_scales = slots > 0 ? store.scale_arena(0) : layers::Tensor{},
          .second_scales = slots > 1 ? store.scale_arena(1) : layers::Tensor{}};
}

double gradient_norm(const partition::ParameterEntry& parameter, const UpdateArguments& with) {
  return with.factor.otherwise *
         norm_of(with.squared_sums.subspan(parameter.first_block,
                                           layers::norm_blocks(parameter.elements)));
}

std::vector<double> weight_norms(layers::Backend& backend, layers::Stream& stream,
                                 const ParameterStore& store, const UpdateArguments& with) {
  return norms(backend, stream, store, with, store.weight_arena(), layers::ArenaOf::weights);
}

std::vector<double> direction_norms(layers::Backend& backend, layers::Stream& stream,
                                    const ParameterStore& store, const UpdateArguments& with) {
  return norms(backend, stream, store, with, store.gradient_arena(), layers::ArenaOf::gradients);
}

}  // namespace penstock::runtime
