#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/scratch.h"

namespace penstock::layers::cuda {

/// Parts of CrossEntropySums' workspace on a CUDA device.
struct CrossEntropyWorkspace {
  CrossEntropyWorkspace(Scratch& scratch, std::size_t utterances);

  std::int64_t* starts;  // first row of each utterance, then the number of rows
  double* losses;
};

std::size_t cross_entropy_workspace(std::size_t utterances);

}  // namespace penstock::layers::cuda
