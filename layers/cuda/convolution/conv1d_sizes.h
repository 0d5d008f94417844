#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/cuda/core/utterances_sizes.h"
#include "layers/ops/conv1d.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

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

}  // namespace penstock::layers::cuda
