#include <algorithm>

#include "layers/cuda/convolution/convolution_sizes.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/core/utterances.h"
#include "layers/ops/conv1d.h"
#include "layers/ops/linear.h"

namespace penstock::layers {
namespace cuda {
namespace {

// 1-D convolution as matrix products over unfolded windows (im2col; Chellapilla et al. 2006). The
// windows that outputs see are laid side by side. So a tile of outputs is one product per group,
// and sums are rounded once. A weight [out, in, kernel] needs no copy to be the other factor.
//
// The workspace holds the windows of one tile of outputs (conv1d_tile_rows()), which bounds it at
// the price of one product per tile. Backward to the input runs over tiles of inputs: it multiplies
// the outputs that see one of them, and then sums the windows.

/// Sizes of windows [group][row][channel][tap]. A tile of them has fewer than 2³¹ numbers, so that
/// threads divide in 32 bits.
struct Windows {
  explicit Windows(const Conv1dGeometry& g)
      : channels(static_cast<int>(g.in_channels)),
        group_in(static_cast<int>(g.group_in())),
        kernel(static_cast<int>(g.kernel)),
        stride(static_cast<int>(g.stride)),
        dilation(static_cast<int>(g.dilation)),
        left(static_cast<int>(g.left)) {}
  int channels, group_in, kernel, stride, dilation, left;
};

/// Bounds of utterances among the inputs and among the outputs.
struct BothUtterances {
  Utterances in, out;
};

/// A range of rows of a matrix of frames.
struct RowRange {
  std::int64_t first, count;
  __device__ int rows() const { return static_cast<int>(count); }
};

/// Copies inputs into the windows of some outputs; outside of the utterance they are 0. One thread
/// for each number of the windows.
template <class T>
__global__ void lay_windows(const T* x, T* windows, Windows size, RowRange outputs,
                            BothUtterances utterances) {
  const auto& [in, out] = utterances;
  const std::int64_t i = grid_thread();
  if (i >= outputs.count * size.channels * size.kernel) return;
  const int in_tile = static_cast<int>(i), of_channels = in_tile / size.kernel;
  const int tap = in_tile % size.kernel, channel = of_channels % size.group_in;
  const int place = of_channels / size.group_in;  // [group][row]
  const int group = place / outputs.rows();
  const std::int64_t row = outputs.first + place % outputs.rows();
  const int u = out.of_row[row];
  const std::int64_t frame =
      in.starts[u] + (row - out.starts[u]) * size.stride + tap * size.dilation - size.left;
  const bool real = frame >= in.starts[u] && frame < in.starts[u + 1];
  windows[i] =
      real ? x[frame * size.channels + group * size.group_in + channel] : from_float<T>(0.0f);
}

/// Sums the gradients of windows into dx (col2im). Each thread owns one number of some inputs, and
/// adds the windows that saw it in the order of taps, without atomic additions.
template <class T>
__global__ void gather_windows(const T* windows, T* dx, Windows size, RowRange inputs,
                               RowRange outputs, BothUtterances utterances) {
  const auto& [in, out] = utterances;
  const std::int64_t i = grid_thread();
  if (i >= inputs.count * size.channels) return;
  const int in_tile = static_cast<int>(i), channel = in_tile % size.channels;
  const int group = channel / size.group_in, in_group = channel % size.group_in;
  const std::int64_t row = inputs.first + in_tile / size.channels;
  const int u = in.of_row[row];
  const int frame = static_cast<int>(row - in.starts[u]) + size.left,
            frames = static_cast<int>(out.starts[u + 1] - out.starts[u]);
  float sum = 0;
  for (int tap = 0; tap < size.kernel; ++tap) {
    const int from = frame - tap * size.dilation;
    if (from < 0 || from % size.stride != 0 || from / size.stride >= frames) continue;
    const std::int64_t output = out.starts[u] + from / size.stride - outputs.first;
    sum += to_float(
        windows[((group * outputs.count + output) * size.group_in + in_group) * size.kernel + tap]);
  }
  dx[row * size.channels + channel] = from_float<T>(sum);
}

/// One convolution and its windows in the workspace.
template <class T>
class WindowedConvolution {
 public:
  WindowedConvolution(CudaStream& stream, Products& products, const Conv1dGeometry& geometry,
                      DType dtype, std::span<std::byte> workspace)
      : stream_(stream), products_(products), g_(geometry), dtype_(dtype) {
    Scratch scratch(workspace);
    const Conv1dRoom room(scratch, geometry, dtype);
    const std::vector<std::int64_t> out_lengths = geometry.out_lengths();
    in_starts_ = starts_of(geometry.lengths);
    out_starts_ = starts_of(out_lengths);
    utterances_ = {upload_utterances(stream, geometry.lengths, room.in),
                   upload_utterances(stream, out_lengths, room.out)};
    windows_ = room.windows;
  }

  void lay(const Tensor& x_FC, const RowRange& outputs) const {
    launch(stream_.handle(), grid_over(outputs.count * columns()), lay_windows<T>, data_of<T>(x_FC),
           reinterpret_cast<T*>(windows_), Windows(g_), outputs, utterances_);
  }
  void gather(const Tensor& dx_FC, const RowRange& inputs, const RowRange& outputs) const {
    launch(stream_.handle(), grid_over(inputs.count * g_.in_channels), gather_windows<T>,
           reinterpret_cast<const T*>(windows_), data_of<T>(dx_FC), Windows(g_), inputs, outputs,
           utterances_);
  }
  void run(Product product) const {
    product.batch = static_cast<int>(g_.groups);
    products_.run(stream_, product);
  }

  /// Returns a tile's windows: one matrix for each group.
  Matrix windows(const RowRange& outputs) const {
    const std::int64_t width = columns() / g_.groups;
    const Tensor all{windows_, dtype_, {g_.groups * outputs.count, width}};
    return Matrix(all, 0, outputs.count, width, width).each(outputs.count * width);
  }
  Matrix outputs(const Tensor& y_FO, const RowRange& rows) const {
    return Matrix(y_FO, rows.first * g_.out_channels, rows.count, g_.group_out(), g_.out_channels)
        .each(g_.group_out());
  }
  Matrix weight(const Tensor& weight_OCK) const {
    const std::int64_t width = columns() / g_.groups;
    return Matrix(weight_OCK, 0, g_.group_out(), width, width).each(g_.group_out() * width);
  }

  template <class Use>
  void for_each_tile_of_outputs(const Use& use) const {
    const std::int64_t rows = out_starts_.back(), max = conv1d_tile_rows(g_);
    for (std::int64_t first = 0; first < rows; first += max)
      use(RowRange{first, std::min(max, rows - first)});
  }
  /// Calls use(inputs, outputs) for each tile of inputs. `outputs` are those that see one of the
  /// inputs.
  template <class Use>
  void for_each_tile_of_inputs(const Use& use) const {
    const std::int64_t rows = in_starts_.back(), max = conv1d_tile_rows(g_);
    for (std::int64_t first = 0; first < rows; first += max) {
      const RowRange inputs{first, std::min(max, rows - first)};
      const std::int64_t begin = first_output_of(first),
                         end = end_of_outputs(first + inputs.count - 1);
      use(inputs, RowRange{begin, std::max<std::int64_t>(0, end - begin)});
    }
  }

 private:
  std::int64_t columns() const { return g_.in_channels * g_.kernel; }
  std::size_t utterance_of(std::int64_t in_row) const {
    return static_cast<std::size_t>(std::upper_bound(in_starts_.begin(), in_starts_.end(), in_row) -
                                    in_starts_.begin() - 1);
  }
  /// Returns the first output that sees an input or a later one.
  std::int64_t first_output_of(std::int64_t in_row) const {
    const std::size_t u = utterance_of(in_row);
    const std::int64_t last_not = in_row - in_starts_[u] + g_.left - g_.field();  // window's start
    const std::int64_t first = last_not < 0 ? 0 : last_not / g_.stride + 1;
    return std::min(out_starts_[u] + first, out_starts_[u + 1]);
  }
  /// Returns the end of the outputs that see an input or an earlier one.
  std::int64_t end_of_outputs(std::int64_t in_row) const {
    const std::size_t u = utterance_of(in_row);
    const std::int64_t last = (in_row - in_starts_[u] + g_.left) / g_.stride;
    return std::min(out_starts_[u] + last + 1, out_starts_[u + 1]);
  }

  CudaStream& stream_;
  Products& products_;
  const Conv1dGeometry& g_;
  DType dtype_;
  std::vector<std::int64_t> in_starts_, out_starts_;
  BothUtterances utterances_{};
  std::byte* windows_ = nullptr;
};

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const Conv1dForward& op) {
  auto& own = static_cast<CudaStream&>(stream);
  const bool by_groups = op.geometry.groups > 1;  // a batch of products cannot add a bias
  cuda::with_type_of(op.x_FC, "Conv1dForward", [&]<class T>(T) {
    const cuda::WindowedConvolution<T> of(own, products_, op.geometry, op.x_FC.dtype, op.workspace);
    of.for_each_tile_of_outputs([&](const cuda::RowRange& rows) {
      of.lay(op.x_FC, rows);
      of.run({.a = of.windows(rows),
              .b = of.weight(op.weight_OCK),
              .d = of.outputs(op.y_FO, rows),
              .transpose_b = true,
              .bias = op.bias_O.data == nullptr || by_groups ? nullptr : &op.bias_O});
    });
  });
  if (op.bias_O.data != nullptr && by_groups) run(stream, AddBias{op.y_FO, op.bias_O, op.y_FO});
}

template <>
void CudaBackend::compute(Stream& stream, const Conv1dBackwardInput& op) {
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.dy_FO, "Conv1dBackwardInput", [&]<class T>(T) {
    const cuda::WindowedConvolution<T> of(own, products_, op.geometry, op.dy_FO.dtype,
                                          op.workspace);
    of.for_each_tile_of_inputs([&](const cuda::RowRange& inputs, const cuda::RowRange& outputs) {
      of.run({.a = of.outputs(op.dy_FO, outputs),
              .b = of.weight(op.weight_OCK),
              .d = of.windows(outputs)});
      of.gather(op.dx_FC, inputs, outputs);
    });
  });
}

template <>
void CudaBackend::compute(Stream& stream, const Conv1dBackwardWeight& op) {
  auto& own = static_cast<CudaStream&>(stream);
  cuda::with_type_of(op.x_FC, "Conv1dBackwardWeight", [&]<class T>(T) {
    const cuda::WindowedConvolution<T> of(own, products_, op.geometry, op.x_FC.dtype, op.workspace);
    of.for_each_tile_of_outputs([&](const cuda::RowRange& rows) {
      of.lay(op.x_FC, rows);
      of.run({.a = of.outputs(op.dy_FO, rows),
              .b = of.windows(rows),
              .d = of.weight(op.d_weight_OCK),
              .transpose_a = true,
              .accumulate = true});
    });
  });
}

}  // namespace penstock::layers
