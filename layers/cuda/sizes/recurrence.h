#pragma once

#include <cstddef>
#include <cstdint>

#include "layers/ops/recurrence.h"
#include "layers/scratch.h"

namespace penstock::layers::cuda {

// Parts of a recurrence's workspace on a CUDA device. Besides the suffixes of RecurrenceKept, N is
// the utterances in the order of FrameOrder: the first so many of them take part in a step.

struct RecurrenceForwardRoom {
  RecurrenceForwardRoom(Scratch& scratch, const RecurrenceShape& shape, DType compute);

  std::int64_t* first_rows_DN;  // where each direction enters each utterance
  std::byte* states_DNH;        // h, of the compute dtype
  float* cells_DNH;             // s
  float* u_DNG;                 // U h
  std::size_t zeroed;           // bytes from states_DNH on: what a recurrence starts from
};

struct RecurrenceBackwardRoom {
  RecurrenceBackwardRoom(Scratch& scratch, const RecurrenceShape& shape, DType compute);

  std::int64_t* first_rows_DN;
  float *dh_DNH, *ds_DNH;  // gradients of the states
  std::byte* g_DNG;        // gradients of U h + c, of the compute dtype
  std::size_t zeroed;      // bytes from dh_DNH on
};

Workspace recurrence_workspace(const RecurrenceShape& shape, DType compute);

}  // namespace penstock::layers::cuda
