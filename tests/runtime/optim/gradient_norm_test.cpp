#include "runtime/optim/gradient_norm.h"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock {
namespace {

std::vector<LayerPlan> plans_of(std::vector<Shape> shapes) {
  std::vector<LayerPlan> plans;
  for (const Shape& shape : shapes) {
    LayerPlan& plan = plans.emplace_back();
    plan.params.push_back({"p" + std::to_string(plans.size()), shape, {}});
  }
  return plans;
}

void fill_gradients(const ParameterStore& store) {
  for (const ParameterEntry& p : store.parameters())
    for (std::int64_t i = 0; i < p.elements; ++i)
      store.gradient(p, 0).as<float>()[i] = std::sin(0.1f * static_cast<float>(i)) + 0.5f;
}

TEST(GradientNorm, IsTheSameHoweverTheModelIsCut) {
  const auto backend = make_cpu_backend();
  const auto stream = backend->make_stream();
  const auto whole = plans_of({{70001}, {3, 5}, {131072}});
  std::vector<double> blocks(norm_blocks(70001) + 1 + norm_blocks(131072));
  ASSERT_EQ(blocks.size(), 5u);

  const ParameterStore one(*backend, *stream, whole, 0, {}, 1);
  fill_gradients(one);
  write_squared_sums(*backend, *stream, one, blocks);
  const double norm = norm_of(blocks);

  std::vector<double> of_stages(blocks.size());
  const ParameterStore front(*backend, *stream, {whole[0]}, 0, {}, 1);
  const ParameterStore back(*backend, *stream, {whole[1], whole[2]}, 2, {}, 1);
  for (const ParameterStore* stage : {&front, &back}) {
    fill_gradients(*stage);
    write_squared_sums(*backend, *stream, *stage, of_stages);
  }
  EXPECT_EQ(of_stages, blocks);
  EXPECT_EQ(norm_of(of_stages), norm);

  double expected = 0;
  for (const ParameterEntry& p : one.parameters())
    for (std::int64_t i = 0; i < p.elements; ++i)
      expected += std::pow(static_cast<double>(one.gradient(p, 0).as<float>()[i]), 2);
  EXPECT_NEAR(norm, std::sqrt(expected), 1e-10 * norm);
}

TEST(GradientNorm, ClipsAsTorch) {
  EXPECT_EQ(clip_factor(5, 0), 1);
  EXPECT_EQ(clip_factor(5, 400), 1);
  EXPECT_DOUBLE_EQ(clip_factor(800, 400), 400 / (800 + 1e-6));
}

}  // namespace
}  // namespace penstock
