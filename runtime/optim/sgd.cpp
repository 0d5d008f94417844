#include <algorithm>
#include <cmath>

#include "runtime/optim/optimizer.h"

namespace penstock::runtime {
namespace {

/// Gradient descent with momentum. If `config.larc` is above 0, it is LARC (You et al. 2017, as in
/// apex and timm). A parameter whose step would be large compared with its norm gets a smaller
/// learning rate:
///   local = larc · |weight| / (|gradient| + weight_decay · |weight| + epsilon)
///   its learning rate = min(local, learning_rate); learning_rate where a norm is 0.
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const configs::OptimizerConfig& config) : config_(config) {}

  OptimizerSlots slots() const override { return {{"velocity"}, {}}; }
  bool takes_norms() const override { return config_.larc > 0; }

  void update(layers::Backend& backend, layers::Stream& stream, ParameterStore& store,
              const UpdateArguments& with) const override {
    if (config_.larc == 0) {
      for (const RatedBlocks& run : store.table().by_rate())
        backend.run(stream, step_of(store, run, with, with.factor, 1));
      return;
    }
    const std::vector<double> shares = shares_of(backend, stream, store, with);
    for (std::size_t piece = 0; piece < store.owned().size(); ++piece) {
      const partition::ParameterPiece& own = store.owned()[piece];
      const double slower = shares[own.parameter];
      backend.run(stream, step_of(store, {store.table().piece(piece), rate_of(store, own)}, with,
                                  {with.factor.otherwise * slower}, slower));
    }
  }

 private:
  // The share `slower` scales the gradient, by `factor`, and weight decay, and not the learning
  // rate: the velocity then holds scaled steps.
  layers::SgdStep step_of(const ParameterStore& store, const RatedBlocks& run,
                          const UpdateArguments& with, const layers::GradientFactor& factor,
                          double slower) const {
    return {.blocks = run.blocks,
            .weight = store.weight_arena(),
            .velocity = store.slot_arena(0),
            .gradient = store.gradient_arena(),
            .learning_rate = with.learning_rate * run.rate,
            .momentum = config_.momentum,
            .nesterov = config_.nesterov,
            .weight_decay = config_.weight_decay * slower,
            .factor = factor,
            .rounded = store.copy_arena(),
            .coding = slot_coding(store, with)};
  }

  /// Returns each parameter's learning rate divided by the common one.
  std::vector<double> shares_of(layers::Backend& backend, layers::Stream& stream,
                                const ParameterStore& store, const UpdateArguments& with) const {
    std::vector<double> shares = weight_norms(backend, stream, store, with);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const partition::ParameterEntry& p = store.parameters()[i];
      shares[i] = share(shares[i], gradient_norm(p, with), with.learning_rate * p.decl.rate);
    }
    return shares;
  }

  double share(double weight, double gradient, double learning_rate) const {
    if (weight == 0 || gradient == 0 || learning_rate == 0) return 1;
    const double local =
        config_.larc * weight / (gradient + config_.weight_decay * weight + config_.epsilon);
    return std::min(local / learning_rate, 1.0);
  }

  configs::OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(const configs::OptimizerConfig& config) {
  return std::make_unique<Sgd>(config);
}

}  // namespace penstock::runtime
