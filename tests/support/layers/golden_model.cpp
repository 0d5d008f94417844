#include "tests/support/layers/golden_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/layers/golden.h"
#include "tests/support/layers/layer_runner.h"

namespace penstock::test {
namespace {

using layers::Activation;
using layers::ParamDecl;

void copy(const Activation& from, const Activation& to) {
  const layers::Tensor& x = from.only().x_FC;
  std::memcpy(to.only().x_FC.data, x.data, x.bytes());
}

// Runs all layers of a layer sequence, each from its own plan.
class SequenceRunner {
 public:
  SequenceRunner(const LayerSequence& sequence, layers::ActivationDecl input,
                 layers::Targets& targets) {
    for (const auto& layer : sequence) {
      runners_.push_back(std::make_unique<LayerRunner>(*layer, input));
      runners_.back()->targets = &targets;
      input = runners_.back()->plan().output;
    }
  }

  const std::vector<std::unique_ptr<LayerRunner>>& layers() const { return runners_; }

  void forward() {
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      if (i > 0) copy(runners_[i - 1]->output(), runners_[i]->input());
      runners_[i]->forward();
    }
  }

  void backward() {
    for (std::size_t i = runners_.size(); i-- > 0;) {
      runners_[i]->backward_input(i > 0);
      if (!runners_[i]->params().empty()) runners_[i]->backward_weight();
      if (i > 0) copy(runners_[i]->input_gradient(), runners_[i - 1]->output_gradient());
    }
  }

 private:
  std::vector<std::unique_ptr<LayerRunner>> runners_;
};

double magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

double largest_gradient(const SequenceRunner& runner) {
  double largest = 0;
  for (const auto& layer : runner.layers())
    for (const layers::Tensor& gradient : layer->grads())
      largest = std::max(largest, magnitude(numbers(gradient)));
  return largest;
}

}  // namespace

void expect_golden_model(const LayerSequence& sequence, const std::string& golden_name,
                         layers::DType dtype, ModelTolerance tolerance) {
  const Golden golden(golden_name);
  const auto as_int32 = [&](const char* name) {
    const auto values = golden.integers(name);
    return std::vector<std::int32_t>(values.begin(), values.end());
  };
  const auto labels = as_int32("labels"), counts = as_int32("label_counts");
  const std::vector<float> weights(counts.size(), 1);
  std::vector<double> losses(counts.size());
  layers::Targets targets{labels, counts, weights, 1.0 / static_cast<double>(counts.size()),
                          losses};

  SequenceRunner runner(sequence, {dtype, {{golden.integers("lengths"), golden.shape("x")[1]}}},
                        targets);
  golden.copy("x", runner.layers().front()->input().only().x_FC);
  for (const auto& layer : runner.layers())
    for (const ParamDecl& param : layer->plan().params) {
      EXPECT_EQ(param.shape, golden.shape(param.name)) << param.name;
      golden.copy(param.name, layer->param(param.name));
    }
  runner.forward();
  runner.backward();

  const LayerRunner& last = *runner.layers()[sequence.size() - 2];
  EXPECT_EQ(last.plan().output.only().lengths, golden.integers("output_lengths"));
  EXPECT_LE(relative_error(losses, golden["losses"]), tolerance.loss);
  const double largest = largest_gradient(runner);
  for (const auto& layer : runner.layers())
    for (const ParamDecl& param : layer->plan().params) {
      const bool none = magnitude(golden["d " + param.name]) == 0;
      const double error = none ? magnitude(numbers(layer->grad(param.name))) / largest
                                : golden.error(layer->grad(param.name), "d " + param.name);
      EXPECT_LE(error, tolerance.gradient) << param.name;
    }
}

std::vector<std::string> names(const LayerSequence& sequence) {
  std::vector<std::string> names;
  for (const auto& layer : sequence) names.push_back(layer->name());
  return names;
}

std::int64_t parameter_count(const LayerSequence& sequence, std::int64_t features) {
  layers::ActivationDecl input{layers::DType::f32, {{{}, features}}};
  std::int64_t parameters = 0;
  for (const auto& layer : sequence) {
    const layers::LayerPlan plan = layer->plan(input, {});
    for (const ParamDecl& param : plan.params) parameters += layers::element_count(param.shape);
    input = plan.output;
  }
  return parameters;
}

}  // namespace penstock::test
