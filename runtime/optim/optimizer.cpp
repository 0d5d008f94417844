#include "runtime/optim/optimizer.h"

#include <fmt/format.h>

#include "base/error.h"

namespace penstock::runtime {

partition::SlotCounts OptimizerSlots::counts() const {
  return {static_cast<int>(of_elements.size()), static_cast<int>(of_parameters.size())};
}

std::unique_ptr<Optimizer> make_optimizer(const configs::OptimizerConfig& config) {
  if (config.kind == "adamw") return make_adamw(config);
  if (config.kind == "sgd") return make_sgd(config);
  if (config.kind == "lamb") return make_lamb(config);
  if (config.kind == "novograd") return make_novograd(config);
  throw ConfigError(
      fmt::format("optimizer.kind is \"{}\", expected adamw, sgd, lamb or novograd", config.kind));
}

layers::SlotCoding slot_coding(const ParameterStore& store, const UpdateArguments& with) {
  const int slots = store.slots_of_elements();
  return {.random = layers::slot_random(with.seed, with.step),
          .first_scales = slots > 0 ? store.scale_arena(0) : layers::Tensor{},
          .second_scales = slots > 1 ? store.scale_arena(1) : layers::Tensor{}};
}

}  // namespace penstock::runtime
