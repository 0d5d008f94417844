#include "layers/ops/ctc.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaCtc : public Parity {
 protected:
  /// Losses and gradients of both backends. Sums of logarithms stay within ±32 and are rounded once
  /// a frame and direction.
  void compare(const std::vector<std::int64_t>& lengths,
               const std::vector<std::vector<std::int32_t>>& labels, bool with_gradient,
               double smoothing = 0) {
    Labels given(labels);
    std::int64_t frames = 0, longest = 0;
    for (std::int64_t length : lengths) frames += length, longest = std::max(longest, length);
    const double tolerance = 2 * static_cast<double>(longest) * 0x1p-20;

    const Twin logits = random(dtype(), {frames, kClasses}, -3, 3);
    const Twin gradient = with_gradient ? unwritten(DType::f32, {frames, kClasses}) : Twin{};
    const Twin weights =
        twin(DType::f32, {static_cast<std::int64_t>(lengths.size())}, given.weights);
    const auto targets = [&](const Tensor& weights, std::vector<double>& losses) {
      losses.assign(lengths.size(), -1);
      return Targets{given.all,
                     given.counts,
                     {static_cast<const float*>(weights.data), lengths.size()},
                     0.25,
                     losses};
    };
    std::vector<double> cpu_losses, cuda_losses;
    const Targets cpu_targets = targets(weights.cpu, cpu_losses);
    const Targets cuda_targets = targets(weights.cuda, cuda_losses);
    run(CtcLoss{logits.cpu, lengths, cpu_targets, gradient.cpu,
                host_memory(ctc_workspace({DeviceKind::cpu, DType::f32}, lengths, kClasses)),
                smoothing},
        CtcLoss{logits.cuda, lengths, cuda_targets, gradient.cuda,
                device_memory(ctc_workspace({DeviceKind::cuda, dtype()}, lengths, kClasses)),
                smoothing});
    EXPECT_LE(test::relative_error(cuda_losses, cpu_losses), tolerance) << "losses";
    if (with_gradient) expect_close(gradient, tolerance, "gradient");
  }

  static constexpr std::int64_t kClasses = 29;

 private:
  struct Labels {
    explicit Labels(const std::vector<std::vector<std::int32_t>>& utterances) {
      for (const auto& labels : utterances) {
        all.insert(all.end(), labels.begin(), labels.end());
        counts.push_back(static_cast<std::int32_t>(labels.size()));
        weights.push_back(weights.size() % 3 == 2 ? 0.5 : weights.size() == 4 ? 0 : 1);
      }
    }
    std::vector<std::int32_t> all, counts;
    std::vector<double> weights;
  };
};

TEST_P(CudaCtc, LossAndGradient) {
  // Equal neighbours; one frame with one label and with none; labels that need every frame and one
  // frame more than there is.
  for (const double smoothing : {0.0, 0.2})
    compare({7, 1, 13, 5, 1, 5},
            {{3, 3, 1}, {28}, {5, 5, 9, 1, 2, 2, 7}, {2, 2, 2}, {}, {4, 4, 4, 1}}, true, smoothing);
}

TEST_P(CudaCtc, LossAlone) {
  for (const double smoothing : {0.0, 0.2})
    compare({7, 1, 13}, {{3, 3, 1}, {28}, {}}, false, smoothing);
}

TEST_P(CudaCtc, LongUtterance) {  // more states than threads in a block
  std::vector<std::int32_t> labels;
  for (std::int32_t i = 0; i < 151; ++i) labels.push_back(1 + i * i % 28);
  compare({311, 9}, {labels, {1, 2}}, true);
}

PARITY_OF_ALL_TYPES(CudaCtc);

}  // namespace
}  // namespace penstock::layers
