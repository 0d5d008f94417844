#include "layers/ops/conv1d.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaDepthwiseConv1d : public Parity {
 protected:
  static constexpr std::int64_t kChannels = 35, kFrames = 86;  // more than a tile of each
  struct Case {
    std::int64_t kernel, left;
    bool gated, bias;
  };
  /// Shorter than most utterances, longer than most, and longer than all of them and than the taps
  /// that a block takes at a time; frames before the present one.
  static constexpr Case kCases[] = {
      {6, 0, false, false},    {20, 0, false, false}, {5, 2, false, true},  {31, 15, false, false},
      {130, 70, false, false}, {6, 3, true, false},   {31, 15, true, true}, {130, 70, true, false}};

  Twin frames(bool gated = false) {
    return random(dtype(), {kFrames, gated ? 2 * kChannels : kChannels});
  }
  Twin no_frames(bool gated = false) {
    return unwritten(dtype(), {kFrames, gated ? 2 * kChannels : kChannels});
  }
  std::span<std::byte> workspace(const Case& of, DeviceKind device) {
    const DepthwiseConv1dSize size{.rows = kFrames, .kernel = of.kernel};
    return device == DeviceKind::cpu
               ? host_memory(depthwise_conv1d_workspace(size, {device, DType::f32}))
               : device_memory(depthwise_conv1d_workspace(size, {device, dtype()}));
  }
  const std::vector<std::int64_t> lengths_ = {7, 1, 73, 5};
};

TEST_P(CudaDepthwiseConv1d, Forward) {
  for (const Case& of : kCases) {
    const Twin x = frames(of.gated), y = no_frames(), bias = random(dtype(), {kChannels});
    const Twin weight = random(dtype(), {kChannels, of.kernel});
    const auto op = [&](Tensor Twin::*on, DeviceKind device) {
      return DepthwiseConv1dForward{.x_FD = x.*on,
                                    .y_FC = y.*on,
                                    .weight_CK = weight.*on,
                                    .bias_C = of.bias ? bias.*on : Tensor{},
                                    .left = of.left,
                                    .gated = of.gated,
                                    .lengths = lengths_,
                                    .workspace = workspace(of, device)};
    };
    run(op(&Twin::cpu, DeviceKind::cpu), op(&Twin::cuda, DeviceKind::cuda));
    expect_close(y, tolerance(), "y");
  }
}

TEST_P(CudaDepthwiseConv1d, BackwardInput) {
  for (const Case& of : kCases) {
    const Twin x = frames(of.gated), dy = frames(), dx = no_frames(of.gated);
    const Twin weight = random(dtype(), {kChannels, of.kernel});
    const auto op = [&](Tensor Twin::*on, DeviceKind device) {
      return DepthwiseConv1dBackwardInput{.x_FD = x.*on,
                                          .dy_FC = dy.*on,
                                          .dx_FD = dx.*on,
                                          .weight_CK = weight.*on,
                                          .left = of.left,
                                          .gated = of.gated,
                                          .lengths = lengths_,
                                          .workspace = workspace(of, device)};
    };
    run(op(&Twin::cpu, DeviceKind::cpu), op(&Twin::cuda, DeviceKind::cuda));
    expect_close(dx, tolerance(), "dx");
  }
}

TEST_P(CudaDepthwiseConv1d, BackwardWeight) {
  for (const Case& of : kCases) {
    const Twin x = frames(of.gated), dy = frames();
    const Twin d_weight = random(DType::f32, {kChannels, of.kernel});
    const auto op = [&](Tensor Twin::*on, DeviceKind device) {
      return DepthwiseConv1dBackwardWeight{.x_FD = x.*on,
                                           .dy_FC = dy.*on,
                                           .d_weight_CK = d_weight.*on,
                                           .left = of.left,
                                           .gated = of.gated,
                                           .lengths = lengths_,
                                           .workspace = workspace(of, device)};
    };
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
      run(op(&Twin::cpu, DeviceKind::cpu), op(&Twin::cuda, DeviceKind::cuda));
    expect_close(d_weight, 1e-5, "d_weight");  // FP32 sums whatever the inputs
  }
}

PARITY_OF_ALL_TYPES(CudaDepthwiseConv1d);

}  // namespace
}  // namespace penstock::layers
