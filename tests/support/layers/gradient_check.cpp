#include "tests/support/layers/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace penstock::test {
namespace {

double functional(LayerRunner& runner) {
  runner.forward();
  double total = 0;
  if (runner.output().empty() || runner.plan().auxiliary_loss)
    for (double loss : runner.targets->losses) total += loss * runner.targets->scale;
  for (std::size_t i = 0; i < runner.output().frames.size(); ++i) {
    const layers::Tensor& y = runner.output().frames[i].x_FC;
    const layers::Tensor& dy = runner.output_gradient().frames[i].x_FC;
    for (std::int64_t k = 0; k < y.size(); ++k) total += y.as<double>()[k] * dy.as<double>()[k];
  }
  return total;
}

std::vector<std::int64_t> some_elements(const layers::Tensor& tensor, const GradientCheck& how) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(tensor.size()));
  std::iota(places.begin(), places.end(), 0);
  if (tensor.size() > how.elements) {
    std::shuffle(places.begin(), places.end(), std::mt19937_64(how.seed));
    places.resize(static_cast<std::size_t>(how.elements));
  }
  return places;
}

// Compares `gradient` with differences over `variable`, which is restored.
void compare(LayerRunner& runner, const GradientCheck& how, const layers::Tensor& variable,
             const std::vector<double>& gradient, const std::string& what) {
  std::vector<double> found, expected;
  for (std::int64_t place : some_elements(variable, how)) {
    double& number = variable.as<double>()[place];
    const double kept = number;
    number = kept + how.step;
    const double above = functional(runner);
    number = kept - how.step;
    const double below = functional(runner);
    number = kept;
    expected.push_back((above - below) / (2 * how.step));
    found.push_back(gradient[static_cast<std::size_t>(place)]);
  }
  EXPECT_LE(relative_error(found, expected), how.tolerance)
      << runner.layer().name() << ": gradient of " << what;
}

void backward(LayerRunner& runner, double grads_before, bool input_wanted) {
  for (const layers::Tensor& grad : runner.grads())
    assign(grad, std::vector<double>(static_cast<std::size_t>(grad.size()), grads_before));
  runner.forward();
  runner.backward_input(input_wanted);
  if (!runner.grads().empty()) runner.backward_weight();
}

std::vector<std::vector<double>> all_numbers(const std::vector<layers::Tensor>& tensors) {
  std::vector<std::vector<double>> all;
  for (const layers::Tensor& tensor : tensors) all.push_back(numbers(tensor));
  return all;
}

}  // namespace

void check_gradients(LayerRunner& runner, const GradientCheck& how) {
  ASSERT_EQ(runner.input().frames.front().x_FC.dtype, layers::DType::f64);

  backward(runner, 1, false);
  const auto with_one = all_numbers(runner.grads());
  backward(runner, 0, true);
  const auto grads = all_numbers(runner.grads());
  for (std::size_t i = 0; i < grads.size(); ++i)
    for (std::size_t k = 0; k < grads[i].size(); ++k)
      ASSERT_NEAR(with_one[i][k], grads[i][k] + 1, 1e-12 * (1 + std::abs(grads[i][k])))
          << runner.plan().params[i].name << " is not added to";

  std::vector<std::vector<double>> input_gradients;
  for (const layers::Frames& frames : runner.input_gradient().frames)
    input_gradients.push_back(numbers(frames.x_FC));

  for (std::size_t i = 0; i < grads.size(); ++i)
    if (runner.plan().params[i].summed)
      compare(runner, how, runner.params()[i], grads[i], runner.plan().params[i].name);
  for (std::size_t i = 0; i < input_gradients.size(); ++i)
    compare(runner, how, runner.input().frames[i].x_FC, input_gradients[i],
            "input " + std::to_string(i));
}

}  // namespace penstock::test
