#include "runtime/optim/optimizer.h"

namespace penstock::runtime {
namespace {

// Adam with decoupled weight decay (Loshchilov & Hutter 2019). layers::AdamWStep has the formula.
// An update is one operation for each run of parameters that share a learning-rate factor. The norm
// is read from the device's memory, so nothing waits for the host.
class AdamW final : public Optimizer {
 public:
  explicit AdamW(const configs::OptimizerConfig& config) : config_(config) {}

  OptimizerSlots slots() const override { return {{"mean", "square"}, {}}; }

  void update(layers::Backend& backend, layers::Stream& stream, ParameterStore& store,
              const UpdateArguments& with) const override {
    for (const auto& [blocks, rate] : store.table().by_rate())
      backend.run(stream, layers::AdamWStep{.blocks = blocks,
                                            .weight = store.weight_arena(),
                                            .mean = store.slot_arena(0),
                                            .square = store.slot_arena(1),
                                            .gradient = store.gradient_arena(),
                                            .learning_rate = with.learning_rate * rate,
                                            .beta1 = config_.beta1,
                                            .beta2 = config_.beta2,
                                            .epsilon = config_.epsilon,
                                            .weight_decay = config_.weight_decay,
                                            .factor = with.factor,
                                            .step = with.step,
                                            .rounded = store.copy_arena(),
                                            .coding = slot_coding(store, with)});
  }

 private:
  configs::OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adamw(const configs::OptimizerConfig& config) {
  return std::make_unique<AdamW>(config);
}

}  // namespace penstock::runtime
