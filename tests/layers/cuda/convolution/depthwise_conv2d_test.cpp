#include "layers/ops/conv2d.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaDepthwiseConv2d : public Parity {
 protected:
  struct Case {
    std::int64_t channels, frequencies;
    Conv2dAxis frequency, time;
  };
  /// FastConformer's subsampling, of more columns than a block's threads, and uneven axes.
  static constexpr Case kCases[] = {
      {35, 9, {3, 2, 1}, {3, 2, 1}}, {5, 7, {2, 1, 0}, {4, 3, 2}}, {3, 6, {4, 3, 2}, {1, 2, 0}}};

  Conv2dGeometry geometry(const Case& c) const {
    return {c.channels, c.channels, c.frequency, c.time, c.frequencies, lengths_, true};
  }
  Shape in(const Conv2dGeometry& g) const { return {26, g.in_columns()}; }
  Shape out(const Conv2dGeometry& g) const {
    std::int64_t rows = 0;
    for (const std::int64_t frames : g.out_lengths()) rows += frames;
    return {rows, g.out_columns()};
  }
  std::span<std::byte> workspace(const Conv2dGeometry& g) {
    return host_memory(conv2d_sizes({DeviceKind::cpu, DType::f32}, g).forward);
  }

  const std::vector<std::int64_t> lengths_ = {7, 1, 13, 5};
};

TEST_P(CudaDepthwiseConv2d, Forward) {
  for (const Case& c : kCases) {
    const auto g = geometry(c);
    const Twin x = random(dtype(), in(g)), y = unwritten(dtype(), out(g)),
               weight = random(dtype(), g.weight_shape()), bias = random(dtype(), {c.channels});
    EXPECT_EQ(conv2d_sizes({DeviceKind::cuda, dtype()}, g).forward, 0);
    run(Conv2dForward{g, x.cpu, weight.cpu, y.cpu, workspace(g)},
        Conv2dForward{g, x.cuda, weight.cuda, y.cuda, {}});
    expect_close(y, tolerance(), "y");
    run(Conv2dForward{g, x.cpu, weight.cpu, y.cpu, workspace(g), bias.cpu},
        Conv2dForward{g, x.cuda, weight.cuda, y.cuda, {}, bias.cuda});
    expect_close(y, tolerance(), "y with bias");
  }
}

TEST_P(CudaDepthwiseConv2d, BackwardInput) {
  for (const Case& c : kCases) {
    const auto g = geometry(c);
    const Twin dy = random(dtype(), out(g)), dx = unwritten(dtype(), in(g)),
               weight = random(dtype(), g.weight_shape());
    run(Conv2dBackwardInput{g, dy.cpu, weight.cpu, dx.cpu, workspace(g)},
        Conv2dBackwardInput{g, dy.cuda, weight.cuda, dx.cuda, {}});
    expect_close(dx, tolerance(), "dx");
  }
}

TEST_P(CudaDepthwiseConv2d, BackwardWeight) {
  for (const Case& c : kCases) {
    const auto g = geometry(c);
    const Twin x = random(dtype(), in(g)), dy = random(dtype(), out(g)),
               dweight = random(DType::f32, g.weight_shape());
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
      run(Conv2dBackwardWeight{g, x.cpu, dy.cpu, dweight.cpu, workspace(g)},
          Conv2dBackwardWeight{g, x.cuda, dy.cuda, dweight.cuda, {}});
    expect_close(dweight, 1e-5, "dweight");  // FP32 sums whatever the inputs
  }
}

PARITY_OF_ALL_TYPES(CudaDepthwiseConv2d);

}  // namespace
}  // namespace penstock::layers
