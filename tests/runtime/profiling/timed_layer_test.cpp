#include "runtime/profiling/timed_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "layers/nn/attention.h"
#include "layers/nn/linear.h"
#include "layers/ops/cast.h"

namespace penstock::runtime {
namespace {

using layers::DType;

std::span<const float> numbers_of(const layers::Activation& activation) {
  const layers::Tensor& x = activation.only().x_FC;
  return {x.as<float>(), static_cast<std::size_t>(x.size())};
}

TEST(TimedLayer, ComputesOnNoise) {
  const auto backend = layers::make_cpu_backend();
  const layers::Linear linear({.name = "linear", .in = 37, .out = 11});
  const layers::Attention attention({.name = "attention", .channels = 12, .heads = 3});
  const std::vector<std::int64_t> lengths{7, 13};
  for (const auto& [layer, channels] :
       {std::pair<const layers::Layer*, std::int64_t>{&linear, 37}, {&attention, 36}}) {
    TimedLayer timed(*backend, *layer, {}, {lengths, channels});
    EXPECT_GT(timed.seconds(0), 0);
    for (const auto& numbers : {numbers_of(timed.input()), numbers_of(timed.output())}) {
      EXPECT_GT(std::set(numbers.begin(), numbers.end()).size(), numbers.size() / 2);
      EXPECT_TRUE(std::ranges::all_of(numbers, [](float x) { return std::isfinite(x); }));
    }
  }
}

TEST(TimedLayer, NoiseIsInEveryFormat) {
  const auto backend = layers::make_cpu_backend();
  const auto stream = backend->make_stream();
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const layers::Buffer buffer = backend->allocate(1000 * size_of(dtype));
    fill_with_noise(*backend, *stream, {buffer.data(), dtype, {1000}}, 0.5F);
    std::vector<float> found(1000);
    backend->run(*stream,
                 layers::Cast{{buffer.data(), dtype, {1000}},
                              {reinterpret_cast<std::byte*>(found.data()), DType::f32, {1000}}});
    const auto [least, most] = std::ranges::minmax(found);
    EXPECT_LT(least, -0.4F);
    EXPECT_GT(most, 0.4F);
    EXPECT_LE(std::max(-least, most), 0.5F);
  }
}

}  // namespace
}  // namespace penstock::runtime
