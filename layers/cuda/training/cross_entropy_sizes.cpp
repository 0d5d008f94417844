#include "layers/cuda/training/cross_entropy_sizes.h"

namespace penstock::layers::cuda {

CrossEntropyWorkspace::CrossEntropyWorkspace(Scratch& scratch, std::size_t utterances)
    : starts(scratch.take<std::int64_t>(static_cast<std::int64_t>(utterances) + 1)),
      losses(scratch.take<double>(static_cast<std::int64_t>(utterances))) {}

std::size_t cross_entropy_workspace(std::size_t utterances) {
  Scratch counted;
  CrossEntropyWorkspace(counted, utterances);
  return counted.used();
}

}  // namespace penstock::layers::cuda
