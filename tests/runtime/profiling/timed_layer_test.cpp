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

namespace penstock::runtime {
namespace {

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

}  // namespace
}  // namespace penstock::runtime
