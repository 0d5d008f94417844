#include "layers/cuda/convolution/convolution_sizes.h"

#include <algorithm>

#include "layers/cuda/core/utterances_sizes.h"

namespace penstock::layers::cuda {
namespace {

constexpr std::int64_t kTileNumbers = 16 << 20;  // 64 MiB in FP32
constexpr std::int64_t kMinRows = 64;            // a product of fewer leaves the device idle

// Returns the bytes of cuDNN's workspace. What cuDNN asks for depends on its version and the
// algorithm; an algorithm that needs more is not used. The size allows two copies of the images and
// the filter in another layout. It also covers the filter's gradient of few frames, for which cuDNN
// 9.19 wants 43 MB in TF32.
std::size_t library_bytes(std::size_t images_and_filter) {
  return 2 * images_and_filter + (std::size_t{64} << 20);
}

std::size_t bytes_of(std::int64_t count, DType dtype) {
  return aligned(static_cast<std::size_t>(count) * size_of(dtype));
}

}  // namespace

std::int64_t conv1d_tile_rows(const Conv1dGeometry& geometry) {
  return std::max(kMinRows, kTileNumbers / (geometry.kernel * geometry.in_channels));
}

Conv1dRoom::Conv1dRoom(Scratch& scratch, const Conv1dGeometry& geometry, DType compute)
    : in(scratch, geometry.lengths), out(scratch, geometry.lengths) {
  // A tile of inputs is seen by at most as many outputs as it has rows, and by some more at both
  // ends.
  const std::int64_t ends = 2 * (geometry.field() / geometry.stride + 1);
  const std::int64_t rows = std::min(conv1d_tile_rows(geometry) + ends, rows_of(geometry.lengths));
  windows = scratch.take<std::byte>(rows * geometry.kernel * geometry.in_channels *
                                    static_cast<std::int64_t>(size_of(compute)));
}

Workspace conv1d_workspace(const Conv1dGeometry& geometry, DType compute) {
  Scratch counted;
  Conv1dRoom(counted, geometry, compute);
  return {counted.used(), counted.used(), counted.used()};
}

Conv2dImage::Conv2dImage(const Conv2dGeometry& geometry) {
  const Conv2dAxis& time = geometry.time;
  std::int64_t next = 0;  // output row
  for (const std::int64_t frames : geometry.lengths) {
    const std::int64_t start = next * time.stride;
    in_starts.push_back(start);
    out_starts.push_back(next);
    in_rows = start + frames;
    out_rows = next + time.outputs(frames);
    // The next utterance's first window must not reach back to this one, nor this one's last window
    // to the next.
    const std::int64_t clear = (in_rows + time.padding + time.stride - 1) / time.stride;
    next = std::max(out_rows, clear);
  }
}

Conv2dRoom::Conv2dRoom(Scratch& scratch, const Conv2dGeometry& geometry, DType compute) {
  const Conv2dAxis& time = geometry.time;
  const auto utterances = static_cast<std::int64_t>(geometry.lengths.size());
  for (std::int64_t** starts : {&in_starts, &in_first_rows, &out_starts, &out_first_rows})
    *starts = scratch.take<std::int64_t>(utterances + 1);
  // Upper bounds, so that a workspace planned for a number of frames and utterances holds for all
  // lengths.
  const std::int64_t in_rows =
                         rows_of(geometry.lengths) + utterances * (time.padding + time.stride),
                     out_rows = rows_of(geometry.out_lengths()) +
                                utterances * (time.kernel / time.stride + 2);
  const std::size_t in_bytes = bytes_of(in_rows * geometry.in_columns(), compute),
                    out_bytes = bytes_of(out_rows * geometry.out_columns(), compute),
                    filter_bytes = bytes_of(element_count(geometry.weight_shape()), compute);
  const auto take = [&](std::size_t bytes) {
    return scratch.take<std::byte>(static_cast<std::int64_t>(bytes));
  };
  in_image = take(in_bytes);
  out_image = take(out_bytes);
  filter = take(filter_bytes);
  library_bytes = cuda::library_bytes(in_bytes + out_bytes + filter_bytes);
  library = take(library_bytes);
}

Workspace conv2d_workspace(const Conv2dGeometry& geometry, DType compute) {
  if (geometry.depthwise) return {};
  Scratch counted;
  Conv2dRoom(counted, geometry, compute);
  return {counted.used(), counted.used(), counted.used()};
}

}  // namespace penstock::layers::cuda
