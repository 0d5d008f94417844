#include "layers/ops/conv2d.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaConv2d : public Parity {
 protected:
  /// Calls body for strides of 1, 2 and 3 in time, one and several channels, and utterances shorter
  /// than the kernel.
  template <class Body>
  void for_each_geometry(Body body) {
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t channels : {1, 3}) {
        SCOPED_TRACE("stride " + std::to_string(stride) + ", channels " + std::to_string(channels));
        body(Conv2dGeometry{.in_channels = channels,
                            .out_channels = 4,
                            .frequency = {5, 2, 2},
                            .time = {11, stride, 5},
                            .in_frequencies = 9,
                            .lengths = lengths_});
      }
  }

  static Shape in(const Conv2dGeometry& g) { return {26, g.in_columns()}; }
  static Shape out(const Conv2dGeometry& g) {
    std::int64_t frames = 0;
    for (const std::int64_t length : g.out_lengths()) frames += length;
    return {frames, g.out_columns()};
  }
  std::span<std::byte> on_host(const Conv2dGeometry& g, std::size_t Workspace::*method) {
    return host_memory(conv2d_sizes({DeviceKind::cpu, DType::f32}, g).*method);
  }
  std::span<std::byte> on_cuda(const Conv2dGeometry& g, std::size_t Workspace::*method) {
    return device_memory(conv2d_sizes({DeviceKind::cuda, dtype()}, g).*method);
  }

 private:
  const std::vector<std::int64_t> lengths_ = {7, 1, 13, 5};
};

TEST_P(CudaConv2d, Forward) {
  for_each_geometry([&](const Conv2dGeometry& g) {
    const Twin x = random(dtype(), in(g)), weight = random(dtype(), g.weight_shape());
    const Twin y = unwritten(dtype(), out(g)), bias = random(dtype(), {g.out_channels});
    run(Conv2dForward{g, x.cpu, weight.cpu, y.cpu, on_host(g, &Workspace::forward)},
        Conv2dForward{g, x.cuda, weight.cuda, y.cuda, on_cuda(g, &Workspace::forward)});
    expect_close(y, tolerance(), "y");
    run(Conv2dForward{g, x.cpu, weight.cpu, y.cpu, on_host(g, &Workspace::forward), bias.cpu},
        Conv2dForward{g, x.cuda, weight.cuda, y.cuda, on_cuda(g, &Workspace::forward), bias.cuda});
    expect_close(y, 2 * tolerance(), "y with bias");  // cuDNN rounds before the bias is added
  });
}

TEST_P(CudaConv2d, BackwardInput) {
  for_each_geometry([&](const Conv2dGeometry& g) {
    const Twin dy = random(dtype(), out(g)), weight = random(dtype(), g.weight_shape());
    const Twin dx = unwritten(dtype(), in(g));
    const auto method = &Workspace::backward_input;
    run(Conv2dBackwardInput{g, dy.cpu, weight.cpu, dx.cpu, on_host(g, method)},
        Conv2dBackwardInput{g, dy.cuda, weight.cuda, dx.cuda, on_cuda(g, method)});
    expect_close(dx, tolerance(), "dx");
  });
}

TEST_P(CudaConv2d, BackwardWeight) {
  for_each_geometry([&](const Conv2dGeometry& g) {
    const Twin x = random(dtype(), in(g)), dy = random(dtype(), out(g));
    const Twin dweight = random(DType::f32, g.weight_shape());
    const auto method = &Workspace::backward_weight;
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
      run(Conv2dBackwardWeight{g, x.cpu, dy.cpu, dweight.cpu, on_host(g, method)},
          Conv2dBackwardWeight{g, x.cuda, dy.cuda, dweight.cuda, on_cuda(g, method)});
    expect_close(dweight, 2 * tolerance(), "dweight");  // cuDNN rounds each micro-batch's
  });
}

PARITY_OF_ALL_TYPES(CudaConv2d);

}  // namespace
}  // namespace penstock::layers
