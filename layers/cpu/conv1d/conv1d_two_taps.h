#pragma once

#include "layers/backend.h"
#include "layers/ops/conv1d.h"

namespace penstock::layers {

// Convolutions with a stride above 1 and a kernel of one tap more, without groups, dilation or
// padding, as in wav2vec 2.0's front end. Their first and last tap see the same frames, one output
// apart. These two taps take four products for three outputs (two_taps.h); the taps between take
// one product for each output.

/// Returns true if the geometry is of this kind.
bool has_two_taps(const Conv1dGeometry& geometry);

template <class T>
void two_taps_forward(Stream& stream, const Conv1dForward& op);
template <class T>
void two_taps_backward_input(Stream& stream, const Conv1dBackwardInput& op);
template <class T>
void two_taps_backward_weight(Stream& stream, const Conv1dBackwardWeight& op);

/// Returns the bytes of workspace that these take.
template <class T>
Workspace two_taps_workspace(const Conv1dGeometry& geometry);

}  // namespace penstock::layers
