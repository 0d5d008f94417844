#include "runtime/optim/optimizer.h"

#include "layers/ops/optimizer.h"

namespace penstock {
namespace {

class AdamW final : public Optimizer {
 public:
  explicit AdamW(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> slots() const override { return {"mean", "square"}; }

  void update(Backend& backend, Stream& stream, const ParameterStore& store,
              const UpdateArguments& with) const override {
    for (const ParameterEntry& p : store.parameters()) {
      AdamWStep step{store.weight(p), store.slot(p, 0), store.slot(p, 1), store.gradient(p, 0)};
      step.learning_rate = with.learning_rate;
      step.beta1 = config_.beta1;
      step.beta2 = config_.beta2;
      step.epsilon = config_.epsilon;
      step.weight_decay = config_.weight_decay;
      step.gradient_factor = with.gradient_factor;
      step.step = with.step;
      backend.run(stream, step);
    }
  }

 private:
  OptimizerConfig config_;
};

class Sgd final : public Optimizer {
 public:
  explicit Sgd(const OptimizerConfig& config) : config_(config) {}

  std::vector<std::string> slots() const override { return {"velocity"}; }

  void update(Backend& backend, Stream& stream, const ParameterStore& store,
              const UpdateArguments& with) const override {
    for (const ParameterEntry& p : store.parameters()) {
      SgdStep step{store.weight(p), store.slot(p, 0), store.gradient(p, 0)};
      step.learning_rate = with.learning_rate;
      step.momentum = config_.momentum;
      step.nesterov = config_.nesterov;
      step.weight_decay = config_.weight_decay;
      step.gradient_factor = with.gradient_factor;
      backend.run(stream, step);
    }
  }

 private:
  OptimizerConfig config_;
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config) {
  if (config.kind == "adamw") return std::make_unique<AdamW>(config);
  if (config.kind == "sgd") return std::make_unique<Sgd>(config);
  throw ConfigError("optimizer.kind is \"" + config.kind + "\", expected adamw or sgd");
}

}  // namespace penstock
