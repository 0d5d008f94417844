#include "layers/ops/optimizer.h"

#include <cmath>
#include <span>

#include "layers/tensor/parameter_blocks.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

/// Two parameters: one of a block and 37 numbers whose copy layers read, in pieces of 64 off each
/// other in the arenas, and one of 1000 that they read itself and whose slots come first.
class CudaOptimizer : public Parity {
 protected:
  void SetUp() override {
    Parity::SetUp();
    if (IsSkipped()) return;
    const std::span<std::byte> memory = device_memory(sizeof table_);
    cuda_->copy_in(*cuda_stream_, memory.data(), table_, sizeof table_);
    cuda_blocks_ = {reinterpret_cast<const ArenaBlock*>(memory.data()), 3};
  }
  const ArenaBlocks& blocks(Tensor Twin::*side) const {
    return side == &Twin::cpu ? cpu_blocks_ : cuda_blocks_;
  }
  /// Results for the two backends.
  GradientFactor factor(Tensor Twin::*side, const GradientNormResult& result) {
    if (side == &Twin::cpu) return {1, &result};
    const std::span<std::byte> memory = device_memory(sizeof result);
    cuda_->copy_in(*cuda_stream_, memory.data(), &result, sizeof result);
    return {1, reinterpret_cast<const GradientNormResult*>(memory.data())};
  }

  const Shape arena_ = {kNormBlock + 1100};
  const ArenaBlock table_[3] = {
      {.place = 1, .count = kNormBlock, .gradient = 64, .slot = 1024, .rounded = 16},
      {.place = 2,
       .count = 37,
       .gradient = 64 + kNormBlock,
       .weight = kNormBlock,
       .slot = 1024 + kNormBlock,
       .rounded = 16 + kNormBlock},
      {.place = 4, .count = 900, .gradient = 128 + kNormBlock, .weight = 64 + kNormBlock}};
  const ArenaBlocks cpu_blocks_ = {table_, 3};
  ArenaBlocks cuda_blocks_;
  const GradientNormResult halved_ = {.clip_coefficient = 0.5};
};

TEST_P(CudaOptimizer, AdamW) {
  const Twin weight = random(DType::f32, arena_), mean = random(DType::f32, arena_, -0.1, 0.1);
  const Twin square = random(DType::f32, arena_, 0.01, 0.1), gradient = random(DType::f32, arena_);
  const auto step = [&](Tensor Twin::*side, std::int64_t number) {
    return AdamWStep{.blocks = blocks(side),
                     .weight = weight.*side,
                     .mean = mean.*side,
                     .square = square.*side,
                     .gradient = gradient.*side,
                     .learning_rate = 0.01,
                     .weight_decay = 0.1,
                     .factor = factor(side, halved_),
                     .step = number};
  };
  for (std::int64_t number : {1, 2, 3}) run(step(&Twin::cpu, number), step(&Twin::cuda, number));
  expect_close(weight, 1e-6, "weight");
  expect_close(mean, 1e-6, "mean");
  expect_close(square, 1e-6, "square");
}

TEST_P(CudaOptimizer, LambDirection) {
  const Twin weight = random(DType::f32, arena_), mean = random(DType::f32, arena_, -0.1, 0.1);
  const Twin square = random(DType::f32, arena_, 0.01, 0.1), gradient = random(DType::f32, arena_);
  const auto step = [&](Tensor Twin::*side) {
    return LambDirection{.blocks = blocks(side),
                         .weight = weight.*side,
                         .mean = mean.*side,
                         .square = square.*side,
                         .gradient = gradient.*side,
                         .weight_decay = 0.1,
                         .factor = factor(side, halved_),
                         .step = 3};
  };
  run(step(&Twin::cpu), step(&Twin::cuda));
  expect_close(gradient, 1e-6, "direction");
  expect_close(mean, 1e-6, "mean");
  expect_close(square, 1e-6, "square");
}

TEST_P(CudaOptimizer, Sgd) {
  for (bool nesterov : {false, true}) {
    const Twin weight = random(DType::f32, arena_), velocity = random(DType::f32, arena_);
    const Twin gradient = random(DType::f32, arena_);
    const auto step = [&](Tensor Twin::*side) {
      return SgdStep{.blocks = blocks(side),
                     .weight = weight.*side,
                     .velocity = velocity.*side,
                     .gradient = gradient.*side,
                     .learning_rate = 0.1,
                     .momentum = 0.9,
                     .nesterov = nesterov,
                     .weight_decay = 0.01,
                     .factor = factor(side, halved_)};
    };
    run(step(&Twin::cpu), step(&Twin::cuda));
    expect_close(weight, 1e-6, "weight");
    expect_close(velocity, 1e-6, "velocity");
  }
}

TEST_P(CudaOptimizer, MoveAverages) {
  const Twin weight = random(DType::f32, arena_), average = random(DType::f32, arena_);
  const auto step = [&](Tensor Twin::*side) {
    return MoveAverages{.blocks = blocks(side),
                        .weight = weight.*side,
                        .average = average.*side,
                        .decay = 0.9,
                        .factor = factor(side, halved_)};
  };
  for (int number = 0; number < 3; ++number) run(step(&Twin::cpu), step(&Twin::cuda));
  expect_close(average, 1e-6, "average");
}

/// Slots in few bytes on both backends: the same bits, NaN nowhere.
struct FewBytes {
  Twin slot, scales;
};

class CudaOptimizerInFewBytes : public CudaOptimizer {
 protected:
  /// Returns numbers that a slot of `dtype` held before.
  FewBytes few(DType dtype, bool square) {
    const auto count = static_cast<std::size_t>(arena_[0]);
    const Tensor cpu{host_memory(count * size_of(dtype)).data(), dtype, arena_};
    const std::vector<double> values = test::uniform(arena_[0], square ? 8 : 9, 0.01, 0.1);
    std::vector<double> held = values;
    if (dtype == DType::u8)
      for (double& code : held) code = std::floor(code * 2550);
    test::assign(cpu, held);
    const Tensor cuda{device_memory(count * size_of(dtype)).data(), dtype, arena_};
    cuda_->copy_in(*cuda_stream_, cuda.data, cpu.data, cpu.bytes());
    return {{cpu, cuda}, random(DType::f32, {code_blocks(arena_[0])}, 0.01, 0.1)};
  }
  SlotCoding coding(Tensor Twin::*side, const FewBytes& first, const FewBytes& second) const {
    return {slot_random(3, 2), first.scales.*side, second.scales.*side};
  }
  /// Slots of both backends hold the same, but for codes and halves next to each other where FP32
  /// differs in the last bit.
  void expect_alike(const FewBytes& few, const char* what) {
    expect_close(few.scales, 1e-6, what);
    const std::vector<double> cpu = test::numbers(few.slot.cpu), cuda = on_device(few.slot.cuda);
    const bool codes = few.slot.cpu.dtype == DType::u8;
    std::int64_t others = 0;
    for (std::size_t i = 0; i < cpu.size(); ++i) {
      EXPECT_LE(std::abs(cpu[i] - cuda[i]), codes ? 1 : std::abs(cpu[i]) * 0x1p-7) << what << i;
      others += cpu[i] != cuda[i];
    }
    EXPECT_LE(others, 20) << what;
  }
};

TEST_P(CudaOptimizerInFewBytes, AdamW) {
  const Twin weight = random(DType::f32, arena_), gradient = random(DType::f32, arena_);
  const FewBytes mean = few(dtype(), false), square = few(dtype(), true);
  const auto step = [&](Tensor Twin::*side) {
    return AdamWStep{.blocks = blocks(side),
                     .weight = weight.*side,
                     .mean = mean.slot.*side,
                     .square = square.slot.*side,
                     .gradient = gradient.*side,
                     .learning_rate = 0.01,
                     .weight_decay = 0.1,
                     .factor = factor(side, halved_),
                     .step = 2,
                     .coding = coding(side, mean, square)};
  };
  run(step(&Twin::cpu), step(&Twin::cuda));
  expect_close(weight, 1e-6, "weight");
  expect_alike(mean, "mean");
  expect_alike(square, "square");
}

TEST_P(CudaOptimizerInFewBytes, LambDirection) {
  const Twin weight = random(DType::f32, arena_), gradient = random(DType::f32, arena_);
  const FewBytes mean = few(dtype(), false), square = few(dtype(), true);
  const auto step = [&](Tensor Twin::*side) {
    return LambDirection{.blocks = blocks(side),
                         .weight = weight.*side,
                         .mean = mean.slot.*side,
                         .square = square.slot.*side,
                         .gradient = gradient.*side,
                         .weight_decay = 0.1,
                         .factor = factor(side, halved_),
                         .step = 2,
                         .coding = coding(side, mean, square)};
  };
  run(step(&Twin::cpu), step(&Twin::cuda));
  expect_close(gradient, 1e-5, "direction");  // a rounded mean over the root of a small square
  expect_alike(mean, "mean");
  expect_alike(square, "square");
}

TEST_P(CudaOptimizerInFewBytes, Sgd) {
  const Twin weight = random(DType::f32, arena_), gradient = random(DType::f32, arena_),
             rounded = random(DType::f16, arena_);
  const FewBytes velocity = few(dtype(), false);
  const auto step = [&](Tensor Twin::*side) {
    return SgdStep{.blocks = blocks(side),
                   .weight = weight.*side,
                   .velocity = velocity.slot.*side,
                   .gradient = gradient.*side,
                   .learning_rate = 0.1,
                   .momentum = 0.9,
                   .nesterov = true,
                   .factor = factor(side, halved_),
                   .rounded = rounded.*side,
                   .coding = {slot_random(3, 2), velocity.scales.*side}};
  };
  run(step(&Twin::cpu), step(&Twin::cuda));
  expect_close(weight, 1e-6, "weight");
  expect_close(rounded, 0x1p-10, "rounded");
  expect_alike(velocity, "velocity");
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaOptimizerInFewBytes, ::testing::Values(DType::bf16, DType::u8),
                         name_of_parameter);

// A spacing of the halves, where FP32 weights that differ in their last bit round apart.
TEST_P(CudaOptimizer, WeightsRoundedForLayers) {
  for (const auto& [half, spacing] : {std::pair{DType::f16, 0x1p-10}, {DType::bf16, 0x1p-7}}) {
    const Twin weight = random(DType::f32, arena_), velocity = random(DType::f32, arena_),
               mean = random(DType::f32, arena_), square = random(DType::f32, arena_, 0.01, 0.1),
               gradient = random(DType::f32, arena_), rounded = random(half, arena_);
    const auto sgd = [&](Tensor Twin::*side) {
      return SgdStep{.blocks = blocks(side),
                     .weight = weight.*side,
                     .velocity = velocity.*side,
                     .gradient = gradient.*side,
                     .learning_rate = 0.1,
                     .rounded = rounded.*side};
    };
    run(sgd(&Twin::cpu), sgd(&Twin::cuda));
    expect_close(rounded, spacing, "rounded by SGD");
    const auto adamw = [&](Tensor Twin::*side) {
      return AdamWStep{.blocks = blocks(side),
                       .weight = weight.*side,
                       .mean = mean.*side,
                       .square = square.*side,
                       .gradient = gradient.*side,
                       .learning_rate = 0.1,
                       .rounded = rounded.*side};
    };
    run(adamw(&Twin::cpu), adamw(&Twin::cuda));
    expect_close(rounded, spacing, "rounded by AdamW");
  }
}

TEST_P(CudaOptimizer, ASkippedStepChangesNothing) {
  const Twin weight = random(DType::f32, arena_), slot = random(DType::f32, arena_),
             gradient = random(DType::f32, arena_);
  const std::vector<double> before = on_device(weight.cuda), kept = on_device(slot.cuda);
  const GradientFactor skip =
      factor(&Twin::cuda, {.norm = NAN, .clip_coefficient = NAN, .skip = 1});
  cuda_->run(*cuda_stream_, AdamWStep{.blocks = cuda_blocks_,
                                      .weight = weight.cuda,
                                      .mean = slot.cuda,
                                      .square = slot.cuda,
                                      .gradient = gradient.cuda,
                                      .learning_rate = 1,
                                      .factor = skip});
  cuda_->run(*cuda_stream_, SgdStep{.blocks = cuda_blocks_,
                                    .weight = weight.cuda,
                                    .velocity = slot.cuda,
                                    .gradient = gradient.cuda,
                                    .learning_rate = 1,
                                    .factor = skip});
  cuda_->run(*cuda_stream_, MoveAverages{cuda_blocks_, weight.cuda, slot.cuda, 0.5, skip});
  EXPECT_EQ(on_device(weight.cuda), before);
  EXPECT_EQ(on_device(slot.cuda), kept);
}

TEST_P(CudaOptimizer, SquaredSums) {
  const Twin values = random(DType::f32, arena_), sums = random(DType::f64, {5});
  for (const ArenaOf of : {ArenaOf::gradients, ArenaOf::weights}) {
    run(SquaredSums{cpu_blocks_, values.cpu, sums.cpu.as<double>(), of},
        SquaredSums{cuda_blocks_, values.cuda, static_cast<double*>(sums.cuda.data), of});
    expect_close(sums, 1e-12, "sums");
  }
}

TEST_P(CudaOptimizer, LargestMagnitude) {
  const Twin values = random(DType::f32, arena_), largest = random(DType::f64, {5});
  run(LargestMagnitude{cpu_blocks_, values.cpu, largest.cpu.as<double>()},
      LargestMagnitude{cuda_blocks_, values.cuda, static_cast<double*>(largest.cuda.data)});
  expect_close(largest, 0, "largest");
}

TEST_P(CudaOptimizer, LargestMagnitudeOfWhatIsNotFinite) {
  for (const double odd : {std::nan(""), -HUGE_VAL}) {
    std::vector<double> values(static_cast<std::size_t>(kNormBlock) + 1100, 0.5);
    values[1234] = odd;
    const Twin numbers = twin(DType::f32, arena_, values), largest = random(DType::f64, {5});
    cuda_->run(*cuda_stream_, LargestMagnitude{cuda_blocks_, numbers.cuda,
                                               static_cast<double*>(largest.cuda.data)});
    EXPECT_FALSE(std::isfinite(on_device(largest.cuda)[1]));
    EXPECT_EQ(on_device(largest.cuda)[2], 0.5);
  }
}

// The same bits: FP64 sums in one order, and IEEE roots and quotients.
TEST_P(CudaOptimizer, FindsTheGradientNorm) {
  for (const double odd : {1.0, HUGE_VAL, std::nan("")}) {
    std::vector<double> values = test::uniform(613, 3, 0, 1);
    values[300] = odd;
    const Twin sums = twin(DType::f64, {613}, values), result = random(DType::f64, {4});
    const auto norm_of = [&](Tensor Twin::*side) {
      auto* const numbers = static_cast<double*>((sums.*side).data);
      return GradientNorm{.blocks = 613,
                          .sums = numbers,
                          .largest = numbers,
                          .loss_scale = 8,
                          .clip_norm = 1.5,
                          .result = static_cast<GradientNormResult*>((result.*side).data)};
    };
    run(norm_of(&Twin::cpu), norm_of(&Twin::cuda));
    const std::vector<double> cuda = on_device(result.cuda), cpu = test::numbers(result.cpu);
    for (std::size_t i = 0; i < 4 && (odd == 1 || i == 3); ++i) EXPECT_EQ(cuda[i], cpu[i]) << i;
  }
}

TEST_P(CudaOptimizer, AddInto) {
  for (double factor : {1.0, -0.3}) {
    const Twin from = random(DType::f32, arena_), to = random(DType::f32, arena_);
    run(AddInto{from.cpu, to.cpu, factor}, AddInto{from.cuda, to.cuda, factor});
    expect_close(to, factor == 1 ? 0 : 0x1p-23, "to");  // contracted or not
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaOptimizer, ::testing::Values(DType::f32), name_of_parameter);

}  // namespace
}  // namespace penstock::layers
