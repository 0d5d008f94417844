#include "runtime/optim/optimizer.h"

namespace penstock::runtime {
namespace {

/// LAMB (You et al. 2020) as in timm. The step of each parameter is Adam's direction, scaled to the
/// length learning_rate · |weight|. Without weight decay the direction is not scaled, which is
/// plain Adam. The direction overwrites the gradients; the trust ratios need its norm, so the host
/// waits for the stream.
class Lamb final : public Optimizer {
 public:
  explicit Lamb(const configs::OptimizerConfig& config) : config_(config) {}

  OptimizerSlots slots() const override { return {{"mean", "square"}, {}}; }
  bool takes_norms() const override { return true; }

  void update(layers::Backend& backend, layers::Stream& stream, ParameterStore& store,
              const UpdateArguments& with) const override {
    backend.run(stream, layers::LambDirection{.blocks = store.table().all(),
                                              .weight = store.weight_arena(),
                                              .mean = store.slot_arena(0),
                                              .square = store.slot_arena(1),
                                              .gradient = store.gradient_arena(),
                                              .beta1 = config_.beta1,
                                              .beta2 = config_.beta2,
                                              .epsilon = config_.epsilon,
                                              .weight_decay = config_.weight_decay,
                                              .factor = with.factor,
                                              .step = with.step,
                                              .coding = slot_coding(store, with)});
    const std::vector<double> trust = trust_ratios(backend, stream, store, with);
    for (const partition::ParameterPiece& p : store.owned())
      backend.run(stream,
                  layers::AddInto{store.gradient(p, 0), store.weight(p),
                                  -with.learning_rate * rate_of(store, p) * trust[p.parameter]});
    store.round_copies(stream);
  }

 private:
  /// Returns |weight| / |direction| of every parameter, or 1 if one of them is 0.
  std::vector<double> trust_ratios(layers::Backend& backend, layers::Stream& stream,
                                   const ParameterStore& store, const UpdateArguments& with) const {
    std::vector<double> ratios(store.parameters().size(), 1);
    if (config_.weight_decay == 0) return ratios;
    const std::vector<double> weights = weight_norms(backend, stream, store, with);
    const std::vector<double> directions = direction_norms(backend, stream, store, with);
    for (std::size_t i = 0; i < ratios.size(); ++i)
      if (weights[i] > 0 && directions[i] > 0) ratios[i] = weights[i] / directions[i];
    return ratios;
  }

  configs::OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_lamb(const configs::OptimizerConfig& config) {
  return std::make_unique<Lamb>(config);
}

}  // namespace penstock::runtime
