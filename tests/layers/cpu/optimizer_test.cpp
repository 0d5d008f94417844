#include "layers/ops/optimizer.h"

#include <gtest/gtest.h>

#include <functional>

#include "layers/backend.h"
#include "layers/tensor/error.h"
#include "tests/support/golden.h"
#include "tests/support/tensors.h"

namespace penstock {
namespace {

using test::assign;
using test::Golden;
using test::GuardedMemory;
using test::numbers;
using test::relative_error;

struct Span {
  Span(DType dtype, std::int64_t count, double value = 0)
      : memory(static_cast<std::size_t>(count) * size_of(dtype)),
        tensor{memory.data(), dtype, {count}} {
    assign(tensor, std::vector<double>(static_cast<std::size_t>(count), value));
  }
  GuardedMemory memory;
  Tensor tensor;
};

struct Optimizer : testing::TestWithParam<DType> {
  std::unique_ptr<Backend> backend = make_cpu_backend();
  std::unique_ptr<Stream> stream = backend->make_stream();

  // Runs `step(weight, gradient, number)` over a golden file's gradients and compares the weights.
  void follow(const Golden& golden, const std::function<void(Tensor, Tensor, std::int64_t)>& step) {
    const std::int64_t count = golden.shape("start")[0];
    const auto length = static_cast<std::size_t>(count);
    Span weight(GetParam(), count), gradient(GetParam(), count);
    golden.copy("start", weight.tensor);
    for (std::int64_t k = 0; k < golden.shape("gradients")[0]; ++k) {
      const auto row = [&](const std::string& name) {
        return std::span(golden[name]).subspan(static_cast<std::size_t>(k) * length, length);
      };
      assign(gradient.tensor, row("gradients"));
      step(weight.tensor, gradient.tensor, k + 1);
      EXPECT_LE(relative_error(numbers(weight.tensor), row("weights")), 1e-6) << "step " << k + 1;
    }
  }
};

TEST_P(Optimizer, AdamWFollowsPyTorch) {
  Span mean(GetParam(), 37), square(GetParam(), 37);
  follow(Golden("adamw"), [&](Tensor weight, Tensor gradient, std::int64_t step) {
    backend->run(*stream, AdamWStep{.weight = weight,
                                    .mean = mean.tensor,
                                    .square = square.tensor,
                                    .gradient = gradient,
                                    .learning_rate = 0.03,
                                    .beta1 = 0.8,
                                    .beta2 = 0.95,
                                    .epsilon = 1e-6,
                                    .weight_decay = 0.1,
                                    .gradient_factor = 0.37,
                                    .step = step});
  });
}

TEST_P(Optimizer, SgdFollowsPyTorch) {
  for (bool nesterov : {false, true}) {
    Span velocity(GetParam(), 37);
    follow(Golden(nesterov ? "sgd_nesterov" : "sgd"),
           [&](Tensor weight, Tensor gradient, std::int64_t) {
             backend->run(*stream, SgdStep{.weight = weight,
                                           .velocity = velocity.tensor,
                                           .gradient = gradient,
                                           .learning_rate = 0.1,
                                           .momentum = 0.9,
                                           .nesterov = nesterov,
                                           .weight_decay = 0.05,
                                           .gradient_factor = 0.37});
           });
  }
}

TEST_P(Optimizer, SquaredSumsAreOfFixedBlocks) {
  const std::int64_t count = 2 * kNormBlock + 1237;
  Span values(GetParam(), count);
  assign(values.tensor, test::uniform(count, 5));
  std::vector<double> sums(3), expected(3);
  backend->run(*stream, SquaredSums{values.tensor, sums});
  const std::vector<double> all = numbers(values.tensor);
  for (std::size_t i = 0; i < all.size(); ++i) expected[i / kNormBlock] += all[i] * all[i];
  for (std::size_t b = 0; b < 3; ++b) EXPECT_NEAR(sums[b], expected[b], 1e-10 * expected[b]);

  std::vector<double> too_few(2);
  EXPECT_THROW(backend->run(*stream, SquaredSums{values.tensor, too_few}), ShapeError);
}

TEST_P(Optimizer, AddIntoAdds) {
  Span from(GetParam(), 13, 2.5), to(GetParam(), 13, 0.25), other(GetParam(), 12);
  backend->run(*stream, AddInto{from.tensor, to.tensor});
  EXPECT_EQ(numbers(to.tensor), std::vector<double>(13, 2.75));
  EXPECT_EQ(numbers(from.tensor), std::vector<double>(13, 2.5));
  EXPECT_THROW(backend->run(*stream, AddInto{other.tensor, to.tensor}), ShapeError);
}

INSTANTIATE_TEST_SUITE_P(Types, Optimizer, testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace penstock
