#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "configs/config.h"
#include "layers/ops/optimizer.h"
#include "runtime/pipeline/parameter_store.h"

namespace penstock::runtime {

/// What an optimizer keeps of each parameter: names, as checkpoints hold them, in the order of the
/// ParameterStore's slots.
struct OptimizerSlots {
  std::vector<std::string> of_elements;    // as many numbers as the parameter has
  std::vector<std::string> of_parameters;  // one number
  partition::SlotCounts counts() const;
};

/// What differs from step to step.
struct UpdateArguments {
  double learning_rate = 0;
  layers::GradientFactor factor = {};  // of clipping and loss scaling
  std::int64_t step = 1;               // steps taken, this one included; skipped ones do not count
  std::uint64_t seed = 0;              // of the run, for slots that are rounded at random
  std::span<const double> squared_sums = {};  // of the gradients, for each norm block of the model
  double* room = nullptr;                     // for as many numbers, in the backend's memory
  /// Adds numbers of which each rank that holds this stage has those of its own pieces, and 0 of
  /// the others', and leaves the sums on all. Empty: this rank updates the whole stage.
  std::function<void(std::span<double>)> sum_over_owners = {};
};

/// The factor of the learning rate of what a rank updates.
[[nodiscard]] inline double rate_of(const ParameterStore& store,
                                    const partition::ParameterPiece& piece) {
  return store.parameters()[piece.parameter].decl.rate;
}

/// Turns the gradients in lane 0's arena, which it may change, into new parameters, both masters
/// and the copies that layers read. Its own numbers lie in the slots of the ParameterStore.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual OptimizerSlots slots() const = 0;
  /// Whether update() takes norms of single parameters, on the host: squared_sums, room and
  /// factor.otherwise, for which the caller waits, and which it has none of for a step to be
  /// skipped.
  virtual bool takes_norms() const { return false; }
  virtual void update(layers::Backend&, layers::Stream&, ParameterStore&,
                      const UpdateArguments&) const = 0;
};

/// `config.kind` is adamw, sgd, lamb or novograd; ConfigError for others.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const configs::OptimizerConfig& config);

/// What an operation of a step needs to know of the store's slots.
[[nodiscard]] layers::SlotCoding slot_coding(const ParameterStore& store,
                                             const UpdateArguments& with);

/// One file each. Sgd is LARC where `config.larc` is above 0.
[[nodiscard]] std::unique_ptr<Optimizer> make_adamw(const configs::OptimizerConfig& config);
[[nodiscard]] std::unique_ptr<Optimizer> make_sgd(const configs::OptimizerConfig& config);
[[nodiscard]] std::unique_ptr<Optimizer> make_lamb(const configs::OptimizerConfig& config);
[[nodiscard]] std::unique_ptr<Optimizer> make_novograd(const configs::OptimizerConfig& config);

}  // namespace penstock::runtime
