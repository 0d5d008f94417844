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
  for (int i = 0; i + 1 < sequence_.size(); ++i) {
    auto runner = runner_of(*sequence_.layers[i], input);
    if (i == 0) golden.copy("x", runner->input().only().x_FC);
    if (i > 0) copy_output(*runners_.back(), *runner);
    runner->forward();
    input = runner->plan().output;
    runners_.push_back(std::move(runner));
  }
}

std::unique_ptr<LayerRunner> EvaluatedModel::runner_of(const layers::Layer& layer,
                                                       const layers::ActivationDecl& input) const {
  auto runner = std::make_unique<LayerRunner>(layer, input);
  runner->mode = layers::Mode::evaluate;
  for (const layers::ParamDecl& param : runner->plan().params)
    load(checkpoint_, param.name, runner->param(param.name));
  for (const layers::StateDecl& state : runner->plan().state)
    load(checkpoint_, state.name, runner->state(state.name));
  return runner;
}

std::vector<double> EvaluatedModel::losses(const Golden& golden) {
  const std::vector<std::int64_t> labels = golden.integers("labels"),
                                  counts = golden.integers("label_counts");
  const std::vector<std::int32_t> flat(labels.begin(), labels.end()),
      lengths(counts.begin(), counts.end());
  const std::vector<float> weights(counts.size(), 1.0f);
  std::vector<double> losses(counts.size(), NAN);
  layers::Targets targets{flat, lengths, weights, 1, losses};
  layers::ActivationDecl input = runners_.back()->plan().output;
  input.labels = counts;
  const auto runner = runner_of(*sequence_.layers.back(), input);
  runner->targets = &targets;
  copy_output(*runners_.back(), *runner);
  runner->forward();
  return losses;
}

}  // namespace penstock::test
