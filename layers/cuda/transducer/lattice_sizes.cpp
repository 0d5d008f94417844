#include "layers/cuda/transducer/lattice_sizes.h"

#include "layers/ops/transducer.h"

namespace penstock::layers::cuda {

LatticeWorkspace::LatticeWorkspace(Scratch& scratch, std::span<const std::int64_t> lengths,
                                   std::span<const std::int32_t> labels)
    : utterances(scratch.take<LatticeOfUtterance>(static_cast<std::int64_t>(lengths.size()))),
      losses(scratch.take<double>(static_cast<std::int64_t>(lengths.size()))),
      sums(scratch.take<double>(transducer_cells(lengths, labels))) {}

std::size_t transducer_lattice_workspace(std::span<const std::int64_t> lengths,
                                         std::span<const std::int32_t> labels) {
  Scratch counted;
  LatticeWorkspace(counted, lengths, labels);
  return counted.used();
}

}  // namespace penstock::layers::cuda
