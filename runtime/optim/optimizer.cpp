#include "runtime/optim/optimizer.h"

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
  throw ConfigError("optimizer.kind is \"" + config.kind +
                    "\", expected adamw, sgd, lamb or novograd");
}

}  // namespace penstock::runtime
