#pragma once

#include "layers/backend.h"
#include "layers/ops/conv1d.h"

namespace penstock::layers {

// Convolutions whose first and last tap see the same frames, an output apart: a stride above 1 and
// a kernel of one more, without groups, dilation and zeros, as wav2vec 2.0's front end has. These
// two taps take four products for three outputs (two_taps.h), the taps between them one for each.

bool has_two_taps(const Conv1dGeometry& geometry);

template <class T>
void two_taps_forward(Stream& stream, const Conv1dForward& op);
template <class T>
void two_taps_backward_input(Stream& stream, const Conv1dBackwardInput& op);
template <class T>
void two_taps_backward_weight(Stream& stream, const Conv1dBackwardWeight& op);

/// Bytes of scratch memory that these take.
template <class T>
Workspace two_taps_workspace(const Conv1dGeometry& geometry);

}  // namespace penstock::layers
