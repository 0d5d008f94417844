#include "layers/ops/depthwise_conv1d.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaDepthwiseConv1d : public Parity {
 protected:
  static constexpr std::int64_t kChannels = 35;
  /// Shorter than most utterances, and longer than all of them; frames before the present one.
  struct Kernel {
    std::int64_t frames, left;
  };
  static constexpr Kernel kKernels[] = {{6, 0}, {20, 0}, {5, 2}, {31, 15}};

  Twin frames() { return random(dtype(), {26, kChannels}); }
  Twin no_frames() { return unwritten(dtype(), {26, kChannels}); }
  std::span<std::byte> workspace(std::int64_t kernel) {
    return host_memory(depthwise_conv1d_workspace(kChannels, kernel, DType::f32));
  }

  const std::vector<std::int64_t> lengths_ = {7, 1, 13, 5};
};

TEST_P(CudaDepthwiseConv1d, Forward) {
  for (const auto& [kernel, left] : kKernels) {
    const Twin x = frames(), y = no_frames(), weight = random(dtype(), {kChannels, kernel});
    run(DepthwiseConv1dForward{x.cpu, y.cpu, weight.cpu, left, lengths_, workspace(kernel)},
        DepthwiseConv1dForward{x.cuda, y.cuda, weight.cuda, left, lengths_, {}});
    expect_close(y, tolerance(), "y");
  }
}

TEST_P(CudaDepthwiseConv1d, BackwardInput) {
  for (const auto& [kernel, left] : kKernels) {
    const Twin dy = frames(), dx = no_frames(), weight = random(dtype(), {kChannels, kernel});
    run(DepthwiseConv1dBackwardInput{dy.cpu, dx.cpu, weight.cpu, left, lengths_, workspace(kernel)},
        DepthwiseConv1dBackwardInput{dy.cuda, dx.cuda, weight.cuda, left, lengths_, {}});
    expect_close(dx, tolerance(), "dx");
  }
}

TEST_P(CudaDepthwiseConv1d, BackwardWeight) {
  for (const auto& [kernel, left] : kKernels) {
    const Twin x = frames(), dy = frames(), d_weight = random(DType::f32, {kChannels, kernel});
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
      run(DepthwiseConv1dBackwardWeight{x.cpu, dy.cpu, d_weight.cpu, left, lengths_,
                                        workspace(kernel)},
          DepthwiseConv1dBackwardWeight{x.cuda, dy.cuda, d_weight.cuda, left, lengths_, {}});
    expect_close(d_weight, 1e-5, "d_weight");  // FP32 sums whatever the inputs
  }
}

PARITY_OF_ALL_TYPES(CudaDepthwiseConv1d);

}  // namespace
}  // namespace penstock::layers
