#pragma once

#include "partition/layout/layer_sequence.h"

namespace penstock::test {

/// conv (halves the frames), relu, hidden, output over 6 feature channels: enough kinds of layers
/// for planning, small enough to check by hand.
partition::LayerSequence small_sequence();

}  // namespace penstock::test
