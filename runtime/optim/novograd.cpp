#include <cmath>

#include "runtime/optim/optimizer.h"

namespace penstock::runtime {
namespace {

/// NovoGrad (Ginsburg et al. 2019). Gradients are divided by a running norm, one number per
/// parameter, and followed with momentum beta1:
///   square = beta2 · square + (1 - beta2) · |gradient|², |gradient|² in the first step
///   mean   = beta1 · mean + gradient / (√square + epsilon) + weight_decay · weight
///   weight -= learning_rate · mean
class NovoGrad final : public Optimizer {
 public:
  explicit NovoGrad(const configs::OptimizerConfig& config) : config_(config) {}

  OptimizerSlots slots() const override { return {{"mean"}, {"square"}}; }
  bool takes_norms() const override { return true; }

  // The running norms are few and are updated on the host. A kernel then multiplies each
  // parameter's gradient by `factor`, which contains the division by its norm.
  void update(layers::Backend& backend, layers::Stream& stream, ParameterStore& store,
              const UpdateArguments& with) const override {
    std::vector<double> squares = store.read_numbers(stream, 0);
    for (std::size_t i = 0; i < squares.size(); ++i) {
      const double norm = gradient_norm(store.parameters()[i], with);
      squares[i] = with.step == 1 ? norm * norm
                                  : config_.beta2 * squares[i] + (1 - config_.beta2) * norm * norm;
    }
    store.write_numbers(stream, 0, squares);
    for (std::size_t piece = 0; piece < store.owned().size(); ++piece) {
      const double shrink = std::sqrt(squares[store.owned()[piece].parameter]) + config_.epsilon;
      backend.run(stream, layers::SgdStep{.blocks = store.table().piece(piece),
                                          .weight = store.weight_arena(),
                                          .velocity = store.slot_arena(0),
                                          .gradient = store.gradient_arena(),
                                          .learning_rate = with.learning_rate *
                                                           rate_of(store, store.owned()[piece]),
                                          .momentum = config_.beta1,
                                          .nesterov = false,
                                          .weight_decay = config_.weight_decay,
                                          .factor = {with.factor.otherwise / shrink},
                                          .rounded = store.copy_arena(),
                                          .coding = slot_coding(store, with)});
    }
  }

 private:
  configs::OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_novograd(const configs::OptimizerConfig& config) {
  return std::make_unique<NovoGrad>(config);
}

}  // namespace penstock::runtime
