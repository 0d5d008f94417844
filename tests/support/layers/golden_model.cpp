#include "tests/support/layers/golden_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/layers/golden.h"
#include "tests/support/layers/sequence_runner.h"

namespace penstock::test {
namespace {

using layers::ParamDecl;

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

// The batch of a golden file.
struct GoldenBatch {
  explicit GoldenBatch(const Golden& golden)
      : labels(as_int32(golden, "labels")),
        counts(as_int32(golden, "label_counts")),
        weights(counts.size(), 1),
        losses(counts.size()),
        targets{labels, counts, weights, 1.0 / static_cast<double>(counts.size()), losses} {}
  GoldenBatch(const GoldenBatch&) = delete;

  static std::vector<std::int32_t> as_int32(const Golden& golden, const char* name) {
    const auto values = golden.integers(name);
    return {values.begin(), values.end()};
  }

  std::vector<std::int32_t> labels, counts;
  std::vector<float> weights;
  std::vector<double> losses;
  layers::Targets targets;
};

void take_input_and_parameters(const Golden& golden, const SequenceRunner& runner) {
  golden.copy("x", runner.layers().front()->input().only().x_FC);
  for (const auto& layer : runner.layers())
    for (const ParamDecl& param : layer->plan().params) {
      EXPECT_EQ(param.shape, golden.shape(param.name)) << param.name;
      golden.copy(param.name, layer->param(param.name));
    }
}

layers::ActivationDecl input_of(const Golden& golden, layers::DType dtype) {
  return {dtype, {{golden.integers("lengths"), golden.shape("x")[1]}}};
}

}  // namespace

void expect_golden_evaluation(const LayerSequence& sequence, const std::string& golden_name,
                              layers::DType dtype, double tolerance) {
  const Golden golden(golden_name);
  GoldenBatch batch(golden);
  SequenceRunner runner(sequence, input_of(golden, dtype), batch.targets);
  take_input_and_parameters(golden, runner);
  for (const auto& layer : runner.layers()) {
    layer->mode = layers::Mode::evaluate;
    for (const layers::StateDecl& state : layer->plan().state)
      golden.copy(state.name, layer->state(state.name));
  }
  runner.forward();
  LayerRunner& last = *runner.layers()[sequence.size() - 2];
  EXPECT_EQ(last.plan().output.only().lengths, golden.integers("output_lengths"));
  EXPECT_LE(golden.error(last.output().only().x_FC, "logits"), tolerance);
  EXPECT_LE(relative_error(batch.losses, golden["losses"]), tolerance);
}

void expect_golden_model(const LayerSequence& sequence, const std::string& golden_name,
                         layers::DType dtype, ModelTolerance tolerance) {
  const Golden golden(golden_name);
  GoldenBatch batch(golden);
  SequenceRunner runner(sequence, input_of(golden, dtype), batch.targets);
  take_input_and_parameters(golden, runner);
  runner.forward();
  runner.backward();

  const LayerRunner& last = *runner.layers()[sequence.size() - 2];
  EXPECT_EQ(last.plan().output.only().lengths, golden.integers("output_lengths"));
  EXPECT_LE(relative_error(batch.losses, golden["losses"]), tolerance.loss);
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
