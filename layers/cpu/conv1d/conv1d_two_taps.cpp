#include <algorithm>
#include <array>

#include "layers/cpu/conv1d/conv1d_taps.h"
#include "layers/cpu/conv1d/two_taps.h"
#include "layers/scratch.h"

// With stride s and s + 1 taps, frame j · s is the first tap's for output j and the last tap's for
// output j - 1. Let a[j] be that frame, and r[j] the s - 1 frames after it, which are adjacent in
// memory. With the weights A of the first tap, B of the last and R of those between:
//   forward          y[j] = a[j] · A + a[j + 1] · B + r[j] · R
//   backward_input   da[j] = dy[j - 1] · B + dy[j] · A with zeros outside dy;  dr[j] = dy[j] · R^T
//   backward_weight  dA = Σ dy[j]^T · a[j];  dB = Σ dy[j]^T · a[j + 1];  dR = Σ dy[j]^T · r[j]
// The terms of A and B are two taps over neighbouring rows (two_taps.h), and that of R is a plain
// product. backward_input writes each frame of dx once, so dx needs no zeros first, except frames
// after the last window.
//
// An output takes 4/3 + s - 1 products of [in, out] instead of s + 1: 7/3 instead of 3 for a stride
// of 2. The workspace is a copy of the weights, the two mixed ones, and tap_tile() mixed rows.

namespace penstock::layers {
namespace {

/// Sizes of a convolution. The first and the last tap see every stride-th frame, and the taps
/// between see the other frames.
struct Sizes {
  explicit Sizes(const Conv1dGeometry& g)
      : in(g.in_channels), out(g.out_channels), between((g.stride - 1) * in), step(g.stride * in) {
    for (const std::int64_t frames : g.lengths) longest = std::max(longest, g.outputs(frames));
  }
  std::int64_t in, out;
  std::int64_t between;      // numbers that the taps between see
  std::int64_t step;         // numbers from output to output
  std::int64_t longest = 0;  // outputs of the longest utterance
};

enum class TwoTapsPass { forward, backward_input, backward_weight };

/// Workspace for weights or their gradients, tap by tap, and for mixed rows.
template <class T>
struct TwoTapsScratch {
  TwoTapsScratch(const Sizes& sizes, TwoTapsPass pass, Scratch scratch) {
    for (T*& tap : taps) tap = scratch.take<T>(sizes.out * sizes.in);
    between = scratch.take<T>(sizes.out * sizes.between);
    // In backward_input the rows of dy are mixed, for one output more than there are rows.
    const bool of_dy = pass == TwoTapsPass::backward_input;
    const std::int64_t channels = of_dy ? sizes.out : sizes.in;
    const std::int64_t tile = tap_tile(sizes.longest + (of_dy ? 1 : 0));
    for (T*& rows : mixed) rows = scratch.take<T>(tile * channels);
    if (pass == TwoTapsPass::backward_weight)
      for (T*& rows : mixed_dy) rows = scratch.take<T>(tile * sizes.out);
    if (of_dy) zeros = scratch.take<T>(sizes.out);
    bytes = scratch.used();
  }

  TapWeights<T> taps;  // [out, in] each
  T* between;          // [out, taps between, in]
  std::array<T*, 4> mixed;
  std::array<T*, 2> mixed_dy{};
  T* zeros = nullptr;
  std::size_t bytes;
};

/// Calls use(place in [out, in, kernel], address in the workspace) for every weight.
template <class T, class Use>
void for_each_place(const Conv1dGeometry& g, const TwoTapsScratch<T>& scratch, const Use& use) {
  const std::int64_t in = g.in_channels, last = g.kernel - 1;
  for (std::int64_t o = 0; o < g.out_channels; ++o)
    for (std::int64_t c = 0; c < in; ++c) {
      const std::int64_t weight = (o * in + c) * g.kernel;
      use(weight, scratch.taps.front() + o * in + c);
      for (std::int64_t k = 1; k < last; ++k)
        use(weight + k, scratch.between + (o * (last - 1) + k - 1) * in + c);
      use(weight + last, scratch.taps.back() + o * in + c);
    }
}

template <class T>
void take_weights(const Conv1dGeometry& g, const Tensor& weight_OCK,
                  const TwoTapsScratch<T>& scratch) {
  const T* const from = weight_OCK.as<T>();
  for_each_place(g, scratch, [&](std::int64_t weight, T* place) { *place = from[weight]; });
}

/// Sizes of an utterance, and the places of its first numbers.
struct UtterancePlace {
  std::int64_t frames, outputs;
  std::int64_t x, y;  // first number of the input and of the output
};

template <class Use>
void for_each_utterance(const Conv1dGeometry& g, const Use& use) {
  UtterancePlace place{};
  for (const std::int64_t frames : g.lengths) {
    place.frames = frames;
    place.outputs = g.outputs(frames);
    use(place);
    place.x += frames * g.in_channels;
    place.y += place.outputs * g.out_channels;
  }
}

}  // namespace

bool has_two_taps(const Conv1dGeometry& g) {
  return g.stride > 1 && g.kernel == g.stride + 1 && g.groups == 1 && g.dilation == 1 &&
         g.left == 0 && g.right == 0;
}

template <class T>
void add_to_rows(const T* bias_O, std::int64_t channels, std::int64_t rows, T* y_FO) {
  for (std::int64_t f = 0; f < rows; ++f)
    for (std::int64_t o = 0; o < channels; ++o) y_FO[f * channels + o] += bias_O[o];
}

template <class T>
void two_taps_forward(Stream& stream, const Conv1dForward& op) {
  const Sizes sizes(op.geometry);
  const TwoTapsScratch<T> scratch(sizes, TwoTapsPass::forward, Scratch(op.workspace));
  take_weights(op.geometry, op.weight_OCK, scratch);
  const TapWeights<T>& taps = scratch.taps;
  const std::int64_t in = sizes.in;
  mix_weights(taps, sizes.out * in);
  for_each_utterance(op.geometry, [&](const UtterancePlace& of) {
    const T* const x = op.x_FC.as<T>() + of.x;
    T* const y = op.y_FO.as<T>() + of.y;
    run_two_taps(stream, TwoTaps<T>{.a = {x, sizes.step, of.outputs + 1, in},
                                    .weights = {{{taps[0], in, true},
                                                 {taps[1], in, true},
                                                 {taps[2], in, true},
                                                 {taps[3], in, true}}},
                                    .y = y,
                                    .stride = sizes.out,
                                    .count = of.outputs,
                                    .channels = sizes.out,
                                    .mixed = scratch.mixed});
    stream.progress();
    run_product(Product<T>{.m = of.outputs,
                           .n = sizes.out,
                           .k = sizes.between,
                           .a = {x + in, sizes.step},
                           .b = {scratch.between, sizes.between, true},
                           .c = y,
                           .c_stride = sizes.out,
                           .beta = 1});
    if (op.bias_O.data != nullptr) add_to_rows(op.bias_O.as<T>(), sizes.out, of.outputs, y);
  });
}

template <class T>
void two_taps_backward_input(Stream& stream, const Conv1dBackwardInput& op) {
  const Sizes sizes(op.geometry);
  const TwoTapsScratch<T> scratch(sizes, TwoTapsPass::backward_input, Scratch(op.workspace));
  take_weights(op.geometry, op.weight_OCK, scratch);
  std::fill_n(scratch.zeros, sizes.out, T{0});
  // Frame j · stride is seen by the last tap of output j - 1 and the first tap of output j.
  const TapWeights<T> taps = {scratch.taps[3], scratch.taps[1], scratch.taps[2], scratch.taps[0]};
  const std::int64_t in = sizes.in;
  mix_weights(taps, sizes.out * in);
  for_each_utterance(op.geometry, [&](const UtterancePlace& of) {
    const T* const dy = op.dy_FO.as<T>() + of.y;
    T* const dx = op.dx_FC.as<T>() + of.x;
    run_two_taps(
        stream,
        TwoTaps<T>{.a = {dy, sizes.out, of.outputs, sizes.out, true, scratch.zeros},
                   .weights = {{{taps[0], in}, {taps[1], in}, {taps[2], in}, {taps[3], in}}},
                   .y = dx,
                   .stride = sizes.step,
                   .count = of.outputs + 1,
                   .channels = in,
                   .mixed = scratch.mixed});
    stream.progress();
    run_product(Product<T>{.m = of.outputs,
                           .n = sizes.between,
                           .k = sizes.out,
                           .a = {dy, sizes.out},
                           .b = {scratch.between, sizes.between},
                           .c = dx + in,
                           .c_stride = sizes.step});
    const std::int64_t seen = of.outputs * sizes.step + in;
    std::fill(dx + seen, dx + of.frames * in, T{0});
  });
}

template <class T>
void two_taps_backward_weight(Stream& stream, const Conv1dBackwardWeight& op) {
  const Conv1dGeometry& g = op.geometry;
  const Sizes sizes(g);
  const TwoTapsScratch<T> scratch(sizes, TwoTapsPass::backward_weight, Scratch(op.workspace));
  for (T* const sum : scratch.taps) std::fill_n(sum, sizes.out * sizes.in, T{0});
  std::fill_n(scratch.between, sizes.out * sizes.between, T{0});
  for_each_utterance(g, [&](const UtterancePlace& of) {
    const T* const x = op.x_FC.as<T>() + of.x;
    const T* const dy = op.dy_FO.as<T>() + of.y;
    add_two_taps_gradient(stream, TwoTapsGradient<T>{.a = {x, sizes.step, of.outputs + 1, sizes.in},
                                                     .dy = {dy, sizes.out, of.outputs, sizes.out},
                                                     .sums = scratch.taps,
                                                     .mixed = scratch.mixed,
                                                     .mixed_dy = scratch.mixed_dy});
    stream.progress();
    run_product(Product<T>{.m = sizes.out,
                           .n = sizes.between,
                           .k = of.outputs,
                           .a = {dy, sizes.out, true},
                           .b = {x + sizes.in, sizes.step},
                           .c = scratch.between,
                           .c_stride = sizes.between,
                           .beta = 1});
  });
  finish_sums(scratch.taps, sizes.out * sizes.in);
  T* const d_weight = op.d_weight_OCK.as<T>();
  for_each_place(g, scratch, [&](std::int64_t weight, T* place) { d_weight[weight] += *place; });
}

template <class T>
Workspace two_taps_workspace(const Conv1dGeometry& geometry) {
  const Sizes sizes(geometry);
  const auto bytes = [&](TwoTapsPass pass) {
    return TwoTapsScratch<T>(sizes, pass, Scratch()).bytes;
  };
  return {.forward = bytes(TwoTapsPass::forward),
          .backward_input = bytes(TwoTapsPass::backward_input),
          .backward_weight = bytes(TwoTapsPass::backward_weight)};
}

template void two_taps_forward<float>(Stream&, const Conv1dForward&);
template void two_taps_forward<double>(Stream&, const Conv1dForward&);
template void two_taps_backward_input<float>(Stream&, const Conv1dBackwardInput&);
template void two_taps_backward_input<double>(Stream&, const Conv1dBackwardInput&);
template void two_taps_backward_weight<float>(Stream&, const Conv1dBackwardWeight&);
template void two_taps_backward_weight<double>(Stream&, const Conv1dBackwardWeight&);
template Workspace two_taps_workspace<float>(const Conv1dGeometry&);
template Workspace two_taps_workspace<double>(const Conv1dGeometry&);

}  // namespace penstock::layers
