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

}  // namespace penstock::runtime
