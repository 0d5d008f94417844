#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layers/cuda/core/utterances_sizes.h"
#include "layers/ops/conv1d.h"
#include "layers/ops/conv2d.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

// These functions size the workspaces of convolutions on a CUDA device. Plans for GPUs are made on
// any machine, so they need no CUDA.

/// Returns the rows of a tile for which a 1-D convolution lays its windows side by side, with one
/// product for each tile. A row has kernel · in_channels numbers.
std::int64_t conv1d_tile_rows(const Conv1dGeometry& geometry);

/// Parts of the workspace of a 1-D convolution on a CUDA device. There are no more outputs than
/// inputs, so that a workspace planned for a number of frames holds for all lengths of utterances.
struct Conv1dRoom {
  Conv1dRoom(Scratch& scratch, const Conv1dGeometry& geometry, DType compute);

  UtterancesWorkspace in, out;
  std::byte* windows;  // [group][row of a tile][channel][tap], of the compute dtype
};

Workspace conv1d_workspace(const Conv1dGeometry& geometry, DType compute);

/// The utterances of a micro-batch in one tall image, with time downwards, so that one convolution
/// serves all. Between two utterances lie as many rows of zeros as the padding needs, and each
/// utterance starts at a multiple of the stride. Rows of the result that no utterance owns are
/// ignored.
struct Conv2dImage {
  explicit Conv2dImage(const Conv2dGeometry& geometry);

  std::vector<std::int64_t> in_starts, out_starts;  // first row of each utterance
  std::int64_t in_rows = 0, out_rows = 0;
};

/// Parts of the workspace of the convolutions on a CUDA device.
struct Conv2dRoom {
  Conv2dRoom(Scratch& scratch, const Conv2dGeometry& geometry, DType compute);

  std::int64_t *in_starts, *in_first_rows;    // first rows of utterances, in the image and in x_FC
  std::int64_t *out_starts, *out_first_rows;  // the same for y_FC; all have an end
  std::byte *in_image, *out_image;            // of the compute dtype
  std::byte* filter;                          // cuDNN's order, [out, time, frequency, in]
  std::byte* library;                         // cuDNN's workspace, library_bytes
  std::size_t library_bytes;
};

Workspace conv2d_workspace(const Conv2dGeometry& geometry, DType compute);

}  // namespace penstock::layers::cuda
