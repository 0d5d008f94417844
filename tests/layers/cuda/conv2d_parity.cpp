#include "tests/layers/cuda/conv2d_parity.h"

#include <numeric>

namespace penstock::layers {
namespace {

std::int64_t sum(std::span<const std::int64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

Shape in(const Conv2dGeometry& g) { return {sum(g.lengths), g.in_columns()}; }
Shape out(const Conv2dGeometry& g) { return {sum(g.out_lengths()), g.out_columns()}; }

}  // namespace

std::span<std::byte> Conv2dParity::on_host(const Conv2dGeometry& g,
                                           std::size_t Workspace::*method) {
  return host_memory(conv2d_sizes({DeviceKind::cpu, DType::f32}, g).*method);
}

std::span<std::byte> Conv2dParity::on_cuda(const Conv2dGeometry& g,
                                           std::size_t Workspace::*method) {
  return device_memory(conv2d_sizes({DeviceKind::cuda, dtype()}, g).*method);
}

void Conv2dParity::compare_forward(const Conv2dGeometry& g) {
  const Twin x = random(dtype(), in(g)), weight = random(dtype(), g.weight_shape());
  const Twin y = unwritten(dtype(), out(g)), bias = random(dtype(), {g.out_channels});
  run(Conv2dForward{g, x.cpu, weight.cpu, y.cpu, on_host(g, &Workspace::forward)},
      Conv2dForward{g, x.cuda, weight.cuda, y.cuda, on_cuda(g, &Workspace::forward)});
  expect_close(y, tolerance(), "y");
  run(Conv2dForward{g, x.cpu, weight.cpu, y.cpu, on_host(g, &Workspace::forward), bias.cpu},
      Conv2dForward{g, x.cuda, weight.cuda, y.cuda, on_cuda(g, &Workspace::forward), bias.cuda});
  expect_close(y, 2 * tolerance(), "y with bias");  // cuDNN rounds before the bias is added
}

void Conv2dParity::compare_backward_input(const Conv2dGeometry& g) {
  const Twin dy = random(dtype(), out(g)), weight = random(dtype(), g.weight_shape());
  const Twin dx = unwritten(dtype(), in(g));
  const auto method = &Workspace::backward_input;
  run(Conv2dBackwardInput{g, dy.cpu, weight.cpu, dx.cpu, on_host(g, method)},
      Conv2dBackwardInput{g, dy.cuda, weight.cuda, dx.cuda, on_cuda(g, method)});
  expect_close(dx, tolerance(), "dx");
}

void Conv2dParity::compare_backward_weight(const Conv2dGeometry& g, double largest) {
  const Twin x = random(dtype(), in(g)), dy = random(dtype(), out(g), -largest, largest);
  const Twin dweight = random(DType::f32, g.weight_shape());
  const auto method = &Workspace::backward_weight;
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
    run(Conv2dBackwardWeight{g, x.cpu, dy.cpu, dweight.cpu, on_host(g, method)},
        Conv2dBackwardWeight{g, x.cuda, dy.cuda, dweight.cuda, on_cuda(g, method)});
  expect_close(dweight, 2 * tolerance(), "dweight");  // cuDNN rounds each micro-batch's
}

}  // namespace penstock::layers
