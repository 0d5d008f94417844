#pragma once

#include <memory>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/pipeline/parameter_store.h"

namespace penstock {

/// What differs from step to step.
struct UpdateArguments {
  double learning_rate = 0;
  double gradient_factor = 1;  // of clipping
  std::int64_t step = 1;       // steps taken, this one included; skipped ones do not count
};

/// Turns the gradients in lane 0's arena into new parameters. Its own numbers lie in the slots of
/// the ParameterStore.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Names of its slots, as checkpoints hold them.
  virtual std::vector<std::string> slots() const = 0;
  virtual void update(Backend&, Stream&, const ParameterStore&, const UpdateArguments&) const = 0;
};

/// `config.kind` is adamw or sgd; ConfigError for others.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

}  // namespace penstock
