#pragma once

#include "partition/model/chain.h"

namespace penstock::test {

/// conv (halves the frames), relu, hidden, output over 6 feature channels: enough kinds of layers
/// for planning, small enough to check by hand.
Chain small_chain();

}  // namespace penstock::test
