#include "layers/ops/optimizer.h"
#include "runtime/optim/optimizer.h"

namespace penstock {
namespace {

class AdamW final : public Optimizer {
 public:
  explicit AdamW(const OptimizerConfig& config) : config_(config) {}

  OptimizerSlots slots() const override { return {{"mean", "square"}, {}}; }

  void update(Backend& backend, Stream& stream, ParameterStore& store,
              const UpdateArguments& with) const override {
    for (const ParameterPiece& p : store.owned())
      backend.run(stream, AdamWStep{.weight = store.weight(p),
                                    .mean = store.slot(p, 0),
                                    .square = store.slot(p, 1),
                                    .gradient = store.gradient(p, 0),
                                    .learning_rate = with.learning_rate,
                                    .beta1 = config_.beta1,
                                    .beta2 = config_.beta2,
                                    .epsilon = config_.epsilon,
                                    .weight_decay = config_.weight_decay,
                                    .gradient_factor = with.gradient_factor,
                                    .step = with.step,
                                    .rounded = store.copy(p)});
  }

 private:
  OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const OptimizerConfig& config) {
  return std::make_unique<AdamW>(config);
}

}  // namespace penstock
