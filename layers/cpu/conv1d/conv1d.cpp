#include "layers/ops/conv1d.h"

#include <algorithm>

#include "layers/cpu/conv1d/conv1d_taps.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/products/product.h"
#include "layers/cpu/sizes.h"
#include "layers/scratch.h"

namespace penstock::layers {
namespace {

// 1-D convolution as products that read the frames in place, without a copy of windows: the rows of
// the input factor are a stride of frames apart. Taps that are adjacent in memory share a product
// (conv1d_taps.h). The weight is copied into the products' layout once per call. Kernels of stride
// + 1 taps go to conv1d_two_taps.cpp.

/// Copies the weight into the workspace, in the order in which products read it.
template <class T>
T* laid_out(const Conv1dGeometry& g, const Tensor& weight_OCK, std::span<std::byte> workspace) {
  const T* const from = weight_OCK.as<T>();
  T* const to = Scratch(workspace).take<T>(weight_OCK.size());
  for_each_weight(g, [&](std::int64_t weight, std::int64_t place) { to[place] = from[weight]; });
  return to;
}

// An output is the sum of several products, one for each run of taps. So y starts as the bias, and
// every product adds to it.
template <class T>
void forward(Stream& stream, const Conv1dForward& op) {
  const Conv1dGeometry& g = op.geometry;
  if (has_two_taps(g)) return two_taps_forward<T>(stream, op);
  const T* const weight = laid_out<T>(g, op.weight_OCK, op.workspace);
  const T* const x = op.x_FC.as<T>();
  T* const y = op.y_FO.as<T>();
  if (op.bias_O.data == nullptr)
    std::fill_n(y, op.y_FO.size(), T{0});
  else
    for (std::int64_t f = 0; f < op.y_FO.shape[0]; ++f)
      std::copy_n(op.bias_O.as<T>(), g.out_channels, y + f * g.out_channels);
  for_each_product(g, [&](const Conv1dProduct& p) {
    stream.progress();
    run_product(Product<T>{.m = p.rows,
                           .n = g.group_out(),
                           .k = p.columns,
                           .a = {x + p.x, g.stride * g.in_channels},
                           .b = {weight + p.weight, p.columns, true},
                           .c = y + p.y,
                           .c_stride = g.out_channels,
                           .beta = 1});
  });
}

// Windows may overlap, so a frame of dx gets its terms from several products.
template <class T>
void backward_input(Stream& stream, const Conv1dBackwardInput& op) {
  const Conv1dGeometry& g = op.geometry;
  if (has_two_taps(g)) return two_taps_backward_input<T>(stream, op);
  const T* const weight = laid_out<T>(g, op.weight_OCK, op.workspace);
  const T* const dy = op.dy_FO.as<T>();
  T* const dx = op.dx_FC.as<T>();
  std::fill_n(dx, op.dx_FC.size(), T{0});
  for_each_product(g, [&](const Conv1dProduct& p) {
    stream.progress();
    run_product(Product<T>{.m = p.rows,
                           .n = p.columns,
                           .k = g.group_out(),
                           .a = {dy + p.y, g.out_channels},
                           .b = {weight + p.weight, p.columns},
                           .c = dx + p.x,
                           .c_stride = g.stride * g.in_channels,
                           .beta = 1});
  });
}

// Products add over all utterances in the products' layout. Only the whole sum goes to the weight's
// layout, so the scattered access happens once.
template <class T>
void backward_weight(Stream& stream, const Conv1dBackwardWeight& op) {
  const Conv1dGeometry& g = op.geometry;
  if (has_two_taps(g)) return two_taps_backward_weight<T>(stream, op);
  const T* const x = op.x_FC.as<T>();
  const T* const dy = op.dy_FO.as<T>();
  T* const sums = Scratch(op.workspace).take<T>(op.d_weight_OCK.size());
  std::fill_n(sums, op.d_weight_OCK.size(), T{0});
  for_each_product(g, [&](const Conv1dProduct& p) {
    stream.progress();
    run_product(Product<T>{.m = g.group_out(),
                           .n = p.columns,
                           .k = p.rows,
                           .a = {dy + p.y, g.out_channels, true},
                           .b = {x + p.x, g.stride * g.in_channels},
                           .c = sums + p.weight,
                           .c_stride = p.columns,
                           .beta = 1});
  });
  T* const d_weight = op.d_weight_OCK.as<T>();
  for_each_weight(
      g, [&](std::int64_t weight, std::int64_t place) { d_weight[weight] += sums[place]; });
}

}  // namespace

template <>
void CpuBackend::compute(Stream& stream, const Conv1dForward& op) {
  for_real(op.x_FC.dtype, "Conv1dForward", [&]<class T>(T) { forward<T>(stream, op); });
}

template <>
void CpuBackend::compute(Stream& stream, const Conv1dBackwardInput& op) {
  for_real(op.dy_FO.dtype, "Conv1dBackwardInput",
           [&]<class T>(T) { backward_input<T>(stream, op); });
}

template <>
void CpuBackend::compute(Stream& stream, const Conv1dBackwardWeight& op) {
  for_real(op.x_FC.dtype, "Conv1dBackwardWeight",
           [&]<class T>(T) { backward_weight<T>(stream, op); });
}

Workspace cpu::conv1d_workspace(const Conv1dGeometry& geometry, DType dtype) {
  if (has_two_taps(geometry))
    return dtype == DType::f64 ? two_taps_workspace<double>(geometry)
                               : two_taps_workspace<float>(geometry);
  const auto weights = static_cast<std::size_t>(element_count(geometry.weight_shape()));
  const std::size_t bytes = aligned(weights * size_of(dtype));
  return {bytes, bytes, bytes};
}

}  // namespace penstock::layers
