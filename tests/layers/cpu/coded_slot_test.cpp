#include "layers/cpu/coded_slot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "layers/backend.h"
#include "layers/ops/optimizer.h"
#include "tests/support/layers/golden.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::assign;
using test::Golden;
using test::numbers;
using test::relative_error;

constexpr std::int64_t kSlot = 512;  // where the slots of the block begin in their arenas

/// Guarded memory of zeros.
struct Zeros {
  Zeros(DType dtype, std::int64_t count)
      : memory(static_cast<std::size_t>(count) * size_of(dtype)),
        tensor{memory.data(), dtype, {count}} {
    std::ranges::fill(memory.bytes(), std::byte{});
  }
  std::vector<double> part(std::int64_t first, std::int64_t count) const {
    const std::vector<double> all = numbers(tensor);
    return {all.begin() + first, all.begin() + first + count};
  }
  test::GuardedMemory memory;
  Tensor tensor;
};

/// A parameter of `count` elements at place 5 of the model, and its slots in `dtype`.
struct Slots {
  Slots(DType dtype, std::int64_t elements)
      : count(elements),
        block{.place = 5, .count = elements, .slot = kSlot},
        weight(DType::f32, count),
        gradient(DType::f32, count),
        mean(dtype, kSlot + count),
        square(dtype, kSlot + count),
        mean_scales(DType::f32, code_blocks(kSlot + count)),
        square_scales(DType::f32, code_blocks(kSlot + count)) {}

  SlotCoding coding(std::uint64_t seed, std::int64_t step) const {
    return {slot_random(seed, step), mean_scales.tensor, square_scales.tensor};
  }
  AdamWStep adamw(double learning_rate, std::int64_t step, std::uint64_t seed = 1) const {
    return {.blocks = {&block, 1},
            .weight = weight.tensor,
            .mean = mean.tensor,
            .square = square.tensor,
            .gradient = gradient.tensor,
            .learning_rate = learning_rate,
            .step = step,
            .coding = coding(seed, step)};
  }
  template <class Op>
  void run(const Op& op) {
    backend->run(*stream, op);
  }

  std::int64_t count;
  ArenaBlock block;
  Zeros weight, gradient, mean, square, mean_scales, square_scales;
  std::unique_ptr<Backend> backend = make_cpu_backend();
  std::unique_ptr<Stream> stream = backend->make_stream();
};

/// Every number of both slots is that of the golden file, in every step; weights as in FP32.
void follow(const std::string& name, DType dtype) {
  const Golden golden(name);
  Slots slots(dtype, golden.shape("start")[0]);
  golden.copy("start", slots.weight.tensor);
  const std::span<const double> gradients(golden["gradients"]);
  for (std::int64_t step = 1; step <= golden.shape("gradients")[0]; ++step) {
    const auto count = static_cast<std::size_t>(slots.count);
    assign(slots.gradient.tensor, gradients.subspan((step - 1) * count, count));
    AdamWStep op = slots.adamw(0.03, step, 0x123456789abcdef);
    op.beta1 = 0.8;
    op.beta2 = 0.95;
    op.epsilon = 1e-6;
    op.weight_decay = 0.1;
    op.factor = {0.37};
    slots.run(op);
    const auto expected = [&](const char* what) {
      return golden[fmt::format(fmt::runtime(what), step)];
    };
    EXPECT_LE(relative_error(numbers(slots.weight.tensor), expected("weight.{}")), 1e-6) << step;
    EXPECT_EQ(slots.mean.part(kSlot, slots.count), expected("mean.{}.numbers")) << step;
    EXPECT_EQ(slots.square.part(kSlot, slots.count), expected("square.{}.numbers")) << step;
    if (dtype == DType::bf16) continue;
    const std::vector<double> scales = slots.mean_scales.part(2, 2);
    EXPECT_LE(relative_error(scales, expected("mean.{}.scales")), 1e-6) << step;
    EXPECT_LE(relative_error(slots.square_scales.part(2, 2), expected("square.{}.scales")), 1e-6);
  }
  EXPECT_EQ(slots.mean.part(0, kSlot), std::vector<double>(kSlot)) << "before the block";
}

TEST(CodedSlot, AdamWInCodesFollowsNumpy) { follow("adamw_8bit", DType::u8); }
TEST(CodedSlot, AdamWInHalvesFollowsNumpy) { follow("adamw_bf16", DType::bf16); }

// A square's share of 0.001 a step is below half a spacing of bfloat16: nearest would keep 1.
TEST(CodedSlot, SmallChangesArriveInHalves) {
  Slots slots(DType::bf16, 4096);
  assign(slots.square.tensor, std::vector<double>(kSlot + 4096, 1));
  for (std::int64_t step = 1; step <= 200; ++step) slots.run(slots.adamw(0, step));
  double sum = 0;
  for (const double square : slots.square.part(kSlot, 4096)) sum += square;
  const double expected = std::pow(0.999, 200);
  // 200 roundings with a deviation of at most half a spacing, 2^-9, each.
  EXPECT_NEAR(sum / 4096, expected, 5 * std::sqrt(200.0 / 4096) * 0x1p-9);
}

// SGD and LAMB go the same way: a step from empty slots is that in FP32.
TEST(CodedSlot, EveryOptimizerBeginsAsInFull) {
  for (const DType dtype : {DType::bf16, DType::u8}) {
    Slots coded(dtype, 700), full(DType::f32, 700);
    for (Slots* slots : {&coded, &full}) {
      assign(slots->weight.tensor, test::uniform(700, 3));
      assign(slots->gradient.tensor, test::uniform(700, 4));
      const ArenaBlocks blocks{&slots->block, 1};
      slots->run(SgdStep{.blocks = blocks,
                         .weight = slots->weight.tensor,
                         .velocity = slots->mean.tensor,
                         .gradient = slots->gradient.tensor,
                         .learning_rate = 0.1,
                         .momentum = 0.9,
                         .nesterov = true,
                         .weight_decay = 0.01,
                         .coding = slots->coding(1, 1)});
      std::ranges::fill(slots->mean.memory.bytes(), std::byte{});
      std::ranges::fill(slots->mean_scales.memory.bytes(), std::byte{});
      slots->run(LambDirection{.blocks = blocks,
                               .weight = slots->weight.tensor,
                               .mean = slots->mean.tensor,
                               .square = slots->square.tensor,
                               .gradient = slots->gradient.tensor,
                               .weight_decay = 0.1,
                               .coding = slots->coding(1, 1)});
    }
    for (const auto part : {&Slots::weight, &Slots::gradient})
      EXPECT_LE(relative_error(numbers((coded.*part).tensor), numbers((full.*part).tensor)), 1e-6);
    EXPECT_NE(coded.mean.part(kSlot, 700), std::vector<double>(700));
  }
}

TEST(CodedSlot, ABlockOfZerosStaysZero) {
  Slots slots(DType::u8, 300);
  assign(slots.weight.tensor, std::vector<double>(300, 2));
  for (std::int64_t step = 1; step <= 3; ++step) slots.run(slots.adamw(0.1, step));
  EXPECT_EQ(numbers(slots.weight.tensor), std::vector<double>(300, 2));
  EXPECT_EQ(slots.mean_scales.part(2, 2), std::vector<double>(2));
}

// In FP32 the square of 1e30 overflows, and its weight alone does not move any more.
TEST(CodedSlot, AnOverflowLeavesOtherWeightsFinite) {
  Slots slots(DType::u8, 300);
  std::vector<double> gradient(300, 0.5);
  gradient[3] = 1e30;
  assign(slots.gradient.tensor, gradient);
  for (std::int64_t step = 1; step <= 3; ++step) slots.run(slots.adamw(0.1, step));
  for (const double weight : numbers(slots.weight.tensor)) EXPECT_TRUE(std::isfinite(weight));
}

TEST(CodedSlot, ASkippedStepChangesNothing) {
  for (const DType dtype : {DType::bf16, DType::u8}) {
    Slots slots(dtype, 300);
    assign(slots.gradient.tensor, std::vector<double>(300, NAN));
    const GradientNormResult skip{.norm = NAN, .clip_coefficient = NAN, .skip = 1};
    AdamWStep op = slots.adamw(1, 1);
    op.factor = {1, &skip};
    slots.run(op);
    EXPECT_EQ(slots.mean.part(kSlot, 300), std::vector<double>(300));
    EXPECT_EQ(numbers(slots.weight.tensor), std::vector<double>(300));
  }
}

}  // namespace
}  // namespace penstock::layers
