#include "layers/ops/cross_entropy.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

/// Rows and classes: fewer than a warp and a block has threads, and more.
struct LogitsSize {
  std::int64_t rows, classes;
};
constexpr LogitsSize kSizes[] = {{7, 67}, {1, 1}, {3, 300}, {2, 1031}, {2, 65541}};

class CudaCrossEntropy : public Parity {
 protected:
  /// The first and the last class, and others.
  Twin targets(const LogitsSize& size) {
    std::vector<double> ids;
    for (std::int64_t r = 0; r < size.rows; ++r)
      ids.push_back(static_cast<double>(r == 0 ? size.classes - 1 : (r - 1) * 29 % size.classes));
    return twin(DType::i32, {size.rows}, ids);
  }
};

TEST_P(CudaCrossEntropy, Losses) {
  for (const double smoothing : {0.0, 0.1})
    for (const LogitsSize& size : kSizes) {
      const Twin logits = random(dtype(), {size.rows, size.classes}, -5, 5), of = targets(size);
      const Twin losses = unwritten(DType::f64, {size.rows});
      run(CrossEntropyLosses{logits.cpu, of.cpu, smoothing, losses.cpu},
          CrossEntropyLosses{logits.cuda, of.cuda, smoothing, losses.cuda});
      const std::vector<double> own = on_device(losses.cuda), wanted = test::numbers(losses.cpu);
      for (std::size_t r = 0; r < own.size(); ++r) EXPECT_NEAR(own[r], wanted[r], 1e-5) << r;
    }
}

TEST_P(CudaCrossEntropy, Gradient) {
  for (const double smoothing : {0.0, 0.1})
    for (const LogitsSize& size : kSizes) {
      const Twin logits = random(dtype(), {size.rows, size.classes}, -5, 5), of = targets(size);
      const Twin factors = random(DType::f32, {size.rows}, 0.5, 2);
      run(CrossEntropyGradient{logits.cpu, of.cpu, smoothing, factors.cpu, logits.cpu},
          CrossEntropyGradient{logits.cuda, of.cuda, smoothing, factors.cuda, logits.cuda});
      if (size.classes > 1)
        expect_close(logits, tolerance(), "dlogits");
      else
        EXPECT_NEAR(on_device(logits.cuda)[0], 0, 1e-6);
    }
}

PARITY_OF_ALL_TYPES(CudaCrossEntropy);

class CudaCrossEntropySums : public Parity {
 protected:
  /// Eleven utterances, more than a block has warps. Without `factors`, none are asked for.
  void compare(bool factors) {
    const std::vector<std::int64_t> lengths = {3, 0, 40, 1, 70, 32, 5, 0, 2, 1, 33};
    const std::vector<std::int32_t> counts(lengths.size());
    std::vector<double> of_utterances;
    for (std::size_t u = 0; u < lengths.size(); ++u)
      of_utterances.push_back(u == 5 ? 0 : u % 3 == 2 ? 0.5 : 1);
    const Twin weights = twin(DType::f32, {std::ssize(lengths)}, of_utterances);
    const Twin of_rows = random(DType::f64, {187}, 0, 20);
    const Twin of_factors = unwritten(DType::f32, {187});
    std::vector<double> cpu_losses(lengths.size(), -1), cuda_losses(lengths.size(), -1);
    const auto targets = [&](const Tensor& of, std::vector<double>& losses) {
      return Targets{
          {}, counts, {static_cast<const float*>(of.data), lengths.size()}, 0.25, losses};
    };
    const Targets on_cpu = targets(weights.cpu, cpu_losses),
                  on_cuda = targets(weights.cuda, cuda_losses);
    run(CrossEntropySums{of_rows.cpu, lengths, on_cpu, factors ? of_factors.cpu : Tensor{}, {}},
        CrossEntropySums{of_rows.cuda, lengths, on_cuda, factors ? of_factors.cuda : Tensor{},
                         device_memory(cross_entropy_workspace(DeviceKind::cuda, lengths.size()))});
    EXPECT_LE(test::relative_error(cuda_losses, cpu_losses), 1e-15);
    EXPECT_EQ(cuda_losses[1], 0);
    EXPECT_EQ(cuda_losses[5], 0);
    if (factors) {
      EXPECT_EQ(on_device(of_factors.cuda), test::numbers(of_factors.cpu));
    }
  }
};

TEST_P(CudaCrossEntropySums, LossesAndFactors) { compare(true); }

TEST_P(CudaCrossEntropySums, LossesAlone) { compare(false); }

INSTANTIATE_TEST_SUITE_P(Cuda, CudaCrossEntropySums, ::testing::Values(DType::f32),
                         name_of_parameter);

}  // namespace
}  // namespace penstock::layers
