#include "tests/support/runtime/evaluated_model.h"

#include <cmath>
#include <cstring>

#include "configs/flatten.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"

namespace penstock::test {
namespace {

void load(const runtime::Checkpoint& checkpoint, const std::string& name,
          const layers::Tensor& to) {
  checkpoint.expect(name, to.dtype, to.shape);
  checkpoint.read(name, 0, to.size(), {static_cast<std::byte*>(to.data), to.bytes()});
}

void copy_output(LayerRunner& from, LayerRunner& to) {
  const layers::Tensor &source = from.output().only().x_FC, &target = to.input().only().x_FC;
  std::memcpy(target.data, source.data, source.bytes());
}

}  // namespace

EvaluatedModel::EvaluatedModel(const runtime::Checkpoint& checkpoint, const Golden& golden,
                               int labels)
    : checkpoint_(checkpoint) {
  const configs::Config config =
      configs::unflatten(checkpoint.state().config, "the checkpoint", layers::model_families());
  sequence_ = partition::build_model(config.model, labels);
  layers::ActivationDecl input{layers::DType::f32,
                               {{golden.integers("lengths"), golden.shape("x")[1]}}};
  if (golden.has("labels")) {
    for (const std::int64_t label : golden.integers("labels"))
      labels_.push_back(static_cast<std::int32_t>(label));
    input.labels = golden.integers("label_counts");
    counts_.assign(input.labels.begin(), input.labels.end());
    weights_.assign(counts_.size(), 1.0f);
    losses_.assign(counts_.size(), NAN);
    targets_ = {labels_, counts_, weights_, 1, losses_};
  }
  for (int i = 0; i + 1 < sequence_.size(); ++i) {
    auto runner = runner_of(*sequence_.layers[i], input);
    if (i == 0) golden.copy("x", runner->input().only().x_FC);
    if (i > 0) copy_output(*runners_.back(), *runner);
    runner->forward();
    input = layers::next_input(input, runner->plan());
    runners_.push_back(std::move(runner));
  }
}

std::unique_ptr<LayerRunner> EvaluatedModel::runner_of(const layers::Layer& layer,
                                                       const layers::ActivationDecl& input) {
  auto runner = std::make_unique<LayerRunner>(layer, input);
  runner->mode = layers::Mode::evaluate;
  if (!counts_.empty()) runner->targets = &targets_;
  for (const layers::ParamDecl& param : runner->plan().params)
    load(checkpoint_, param.saved_name(), runner->param(param.name));
  for (const layers::StateDecl& state : runner->plan().state)
    load(checkpoint_, state.name, runner->state(state.name));
  return runner;
}

std::vector<double> EvaluatedModel::losses() {
  layers::ActivationDecl input = runners_.back()->plan().output;
  input.labels.assign(counts_.begin(), counts_.end());
  const std::unique_ptr<LayerRunner> runner = runner_of(*sequence_.layers.back(), input);
  copy_output(*runners_.back(), *runner);
  runner->forward();
  return losses_;
}

}  // namespace penstock::test
