#include "layers/ops/conv1d.h"

#include <numeric>

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaConv1d : public Parity {
 protected:
  /// Calls body for strides, gaps between windows, groups, dilation, and zeros at either end.
  template <class Body>
  void for_each_geometry(Body body) {
    const Conv1dGeometry base{
        .in_channels = 6, .out_channels = 9, .kernel = 3, .lengths = lengths_};
    Conv1dGeometry strided = base, gaps = base, grouped = base, dilated = base, long_field = base;
    strided.stride = 2;
    gaps.stride = 5;
    grouped.groups = 3;
    grouped.left = grouped.right = 1;
    dilated.dilation = 2;
    dilated.left = 4;
    long_field.kernel = 14;
    long_field.left = 7;
    long_field.right = 6;
    for (const Conv1dGeometry& geometry : {strided, gaps, grouped, dilated, long_field}) {
      SCOPED_TRACE("stride " + std::to_string(geometry.stride) + ", field " +
                   std::to_string(geometry.field()));
      body(geometry);
    }
  }

  static Shape in(const Conv1dGeometry& g) { return {rows(g.lengths), g.in_channels}; }
  static Shape out(const Conv1dGeometry& g) { return {rows(g.out_lengths()), g.out_channels}; }
  std::span<std::byte> on_host(const Conv1dGeometry& g, std::size_t Workspace::*method) {
    return host_memory(conv1d_workspace({DeviceKind::cpu, DType::f32}, g).*method);
  }
  std::span<std::byte> on_cuda(const Conv1dGeometry& g, std::size_t Workspace::*method) {
    return device_memory(conv1d_workspace({DeviceKind::cuda, dtype()}, g).*method);
  }

 private:
  static std::int64_t rows(std::span<const std::int64_t> lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  }
  const std::vector<std::int64_t> lengths_ = {7, 5, 13, 6};
};

TEST_P(CudaConv1d, Forward) {
  for_each_geometry([&](const Conv1dGeometry& g) {
    const Twin x = random(dtype(), in(g)), weight = random(dtype(), g.weight_shape());
    const Twin y = unwritten(dtype(), out(g)), bias = random(dtype(), {g.out_channels});
    const auto op = [&](Tensor Twin::*on, std::span<std::byte> workspace) {
      return Conv1dForward{g, x.*on, weight.*on, y.*on, workspace};
    };
    for (const bool biased : {false, true}) {
      auto on_cpu = op(&Twin::cpu, on_host(g, &Workspace::forward));
      auto cuda = op(&Twin::cuda, on_cuda(g, &Workspace::forward));
      if (biased) {
        on_cpu.bias_O = bias.cpu;
        cuda.bias_O = bias.cuda;
      }
      run(on_cpu, cuda);
      // Sums of several groups are rounded before the bias is added.
      expect_close(y, (biased && g.groups > 1 ? 2 : 1) * tolerance(), "y");
    }
  });
}

TEST_P(CudaConv1d, BackwardInput) {
  for_each_geometry([&](const Conv1dGeometry& g) {
    const Twin dy = random(dtype(), out(g)), weight = random(dtype(), g.weight_shape());
    const Twin dx = unwritten(dtype(), in(g));
    const auto method = &Workspace::backward_input;
    run(Conv1dBackwardInput{g, dy.cpu, weight.cpu, dx.cpu, on_host(g, method)},
        Conv1dBackwardInput{g, dy.cuda, weight.cuda, dx.cuda, on_cuda(g, method)});
    // In halves, each tap's contribution is rounded before they are added.
    const double rounded_taps = dtype() == DType::f32 ? 1 : static_cast<double>(g.kernel);
    expect_close(dx, rounded_taps * tolerance(), "dx");
  });
}

TEST_P(CudaConv1d, BackwardWeight) {
  for_each_geometry([&](const Conv1dGeometry& g) {
    const Twin x = random(dtype(), in(g)), dy = random(dtype(), out(g));
    const Twin d_weight = random(DType::f32, g.weight_shape());
    const auto method = &Workspace::backward_weight;
    for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
      run(Conv1dBackwardWeight{g, x.cpu, dy.cpu, d_weight.cpu, on_host(g, method)},
          Conv1dBackwardWeight{g, x.cuda, dy.cuda, d_weight.cuda, on_cuda(g, method)});
    expect_close(d_weight, sum_tolerance(), "d_weight");  // FP32 sums whatever the inputs
  });
}

PARITY_OF_ALL_PRODUCTS(Cuda, CudaConv1d);

}  // namespace
}  // namespace penstock::layers
