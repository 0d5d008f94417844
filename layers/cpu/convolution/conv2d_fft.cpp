#include <algorithm>

#include "layers/cpu/convolution/conv2d_filter.h"
#include "layers/cpu/convolution/conv2d_methods.h"

namespace penstock::layers::conv2d_fft {
namespace {

using Order = Conv2dTaps::Order;

// Returns x, or dx, as rows of slots of all phases.
FoldedRows input_rows(const Conv2dGeometry& g, const Conv2dFold2d& fold, const Conv2dLine& line,
                      const Tensor& x_FC) {
  return {.data = x_FC.as<float>(),
          .frame_size = g.in_columns(),
          .frames = line.in.data(),
          .phases = g.time.stride,
          .width = g.frequency.stride * g.in_channels,
          .shift = g.frequency.padding * g.in_channels,
          .limit = fold.frequency.read(g.in_frequencies) * g.in_channels};
}

// Returns y, or dy, as rows of slots; outputs have one phase.
FoldedRows output_rows(const Conv2dGeometry& g, const Conv2dLine& line, const Tensor& y_FC) {
  return {.data = y_FC.as<float>(),
          .frame_size = g.out_columns(),
          .frames = line.out.data(),
          .phases = 1,
          .width = g.out_channels,
          .limit = g.out_columns()};
}

}  // namespace

bool suits(const Conv2dGeometry& geometry) {
  // Kernels of fewer taps, and tiles with fewer valid outputs, are left to conv2d_direct.
  constexpr std::int64_t kMinTaps = 48, kMinValid = Conv2dFold2d::kTile / 2;
  const Conv2dFold2d fold(geometry);
  return fold.length > 0 && fold.valid >= kMinValid &&
         geometry.frequency.kernel * geometry.time.kernel >= kMinTaps;
}

Workspace workspace(const Conv2dGeometry& geometry) {
  const Conv2dFold2d fold(geometry);
  Scratch forward, backward_input, backward_weight;
  Conv2dFilter(geometry, fold, Order::in_out, forward);
  Conv2dFilter(geometry, fold, Order::out_in, backward_input);
  Conv2dTapGradient(geometry, fold, backward_weight);
  return {forward.used(), backward_input.used(), backward_weight.used()};
}

void run(Stream& stream, const Conv2dForward& op) {
  const Conv2dFold2d fold(op.geometry);
  const Conv2dLine line(op.geometry, fold);
  Scratch scratch(op.workspace);
  Conv2dFilter(op.geometry, fold, Order::in_out, scratch)
      .correlate(stream, op.weight.as<float>(), input_rows(op.geometry, fold, line, op.x_FC),
                 output_rows(op.geometry, line, op.y_FC));
}

// Positions that a stride leaves after the last window are in no slot, and their gradient is 0.
// Only then does dx need zeros beforehand.
void run(Stream& stream, const Conv2dBackwardInput& op) {
  const Conv2dFold2d fold(op.geometry);
  const Conv2dLine line(op.geometry, fold);
  const FoldedRows dx = input_rows(op.geometry, fold, line, op.dx_FC);
  if (!line.covers_input || dx.limit < op.geometry.in_columns())
    std::fill_n(op.dx_FC.as<float>(), op.dx_FC.size(), 0.0f);
  Scratch scratch(op.workspace);
  Conv2dFilter(op.geometry, fold, Order::out_in, scratch)
      .spread(stream, op.weight.as<float>(), output_rows(op.geometry, line, op.dy_FC), dx);
}

void run(Stream& stream, const Conv2dBackwardWeight& op) {
  const Conv2dFold2d fold(op.geometry);
  const Conv2dLine line(op.geometry, fold);
  Scratch scratch(op.workspace);
  Conv2dTapGradient(op.geometry, fold, scratch)
      .add(stream, input_rows(op.geometry, fold, line, op.x_FC),
           output_rows(op.geometry, line, op.dy_FC), op.dweight.as<float>());
}

}  // namespace penstock::layers::conv2d_fft
