#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// An utterance's lattice as the kernel sees it.
struct LatticeOfUtterance {
  std::int64_t first_cell = 0;
  std::int64_t frames = 0, labels = 0;
};

/// Parts of TransducerLattice's workspace on a CUDA device.
struct LatticeWorkspace {
  LatticeWorkspace(Scratch& scratch, std::span<const std::int64_t> lengths,
                   std::span<const std::int32_t> labels);

  LatticeOfUtterance* utterances;
  double* losses;
  double* sums;  // over the paths to each cell, and then from it
};

std::size_t transducer_lattice_workspace(std::span<const std::int64_t> lengths,
                                         std::span<const std::int32_t> labels);

}  // namespace penstock::layers::cuda
