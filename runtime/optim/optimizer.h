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

/// Names of the numbers that an optimizer keeps per parameter, as in checkpoints. The order is that
/// of the slots in ParameterStore.
struct OptimizerSlots {
  std::vector<std::string> of_elements;    // slots with one number per element
  std::vector<std::string> of_parameters;  // slots with a single number
  bool averages = false;                   // true if moving averages of the weights are kept too
  partition::SlotCounts counts() const;
};

/// Arguments that change from step to step.
struct UpdateArguments {
  double learning_rate = 0;
  layers::GradientFactor factor = {};  // factor from clipping and loss scaling
  std::int64_t step = 1;               // steps up to this one that changed the model
  std::uint64_t seed = 0;              // the run's seed, for stochastic rounding of slots
  /// Squared sums of the gradients, per norm block of the model.
  std::span<const double> squared_sums = {};
  /// Workspace for as many numbers, in the backend's memory.
  double* room = nullptr;
  /// Sums numbers over the ranks that hold this stage. Each rank contributes the numbers of its own
  /// pieces and zeros for the others'. Empty if this rank updates the whole stage.
  std::function<void(std::span<double>)> sum_over_owners = {};
};

/// Returns the learning-rate factor of a piece.
[[nodiscard]] inline double rate_of(const ParameterStore& store,
                                    const partition::ParameterPiece& piece) {
  return store.parameters()[piece.parameter].decl.rate;
}

/// An optimizer turns the gradients in lane 0's arena into new parameters: masters and the copies
/// that layers read. It may overwrite the gradients. Its state is kept in the slots of the
/// ParameterStore.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual OptimizerSlots slots() const = 0;
  /// True if update() needs norms of single parameters on the host: squared_sums, room and
  /// factor.otherwise. The caller must then wait for them, and must not call update() for a skipped
  /// step.
  virtual bool takes_norms() const { return false; }
  virtual void update(layers::Backend&, layers::Stream&, ParameterStore&,
                      const UpdateArguments&) const = 0;
};

/// Creates the optimizer that `config.kind` names: adamw, sgd, lamb or novograd. ConfigError for
/// other names.
[[nodiscard]] std::unique_ptr<Optimizer> make_optimizer(const configs::OptimizerConfig& config);

/// Returns what a training with this recipe keeps: the slots of its optimizer and, with
/// trainer.ema, moving averages of the weights.
[[nodiscard]] OptimizerSlots training_slots(const configs::Config& config);

/// Returns the random numbers and the scales with which an update reads and writes the slots.
[[nodiscard]] layers::SlotCoding slot_coding(const ParameterStore& store,
                                             const UpdateArguments& with);

/// Each is implemented in a file of its own. Sgd becomes LARC if `config.larc` is above 0.
[[nodiscard]] std::unique_ptr<Optimizer> make_adamw(const configs::OptimizerConfig& config);
[[nodiscard]] std::unique_ptr<Optimizer> make_sgd(const configs::OptimizerConfig& config);
[[nodiscard]] std::unique_ptr<Optimizer> make_lamb(const configs::OptimizerConfig& config);
[[nodiscard]] std::unique_ptr<Optimizer> make_novograd(const configs::OptimizerConfig& config);

/// Returns the norm of the parameter's gradient times `with.factor`, computed from
/// `with.squared_sums`.
double gradient_norm(const partition::ParameterEntry& parameter, const UpdateArguments& with);

/// Returns the norm of every parameter of the stage, in order. Owners of pieces are summed by
/// `with.sum_over_owners`. Waits for the stream.
std::vector<double> weight_norms(layers::Backend& backend, layers::Stream& stream,
                                 const ParameterStore& store, const UpdateArguments& with);
/// Returns the same for the contents of lane 0's gradient arena.
std::vector<double> direction_norms(layers::Backend& backend, layers::Stream& stream,
                                    const ParameterStore& store, const UpdateArguments& with);

}  // namespace penstock::runtime
