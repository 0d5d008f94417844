#pragma once

#include "comm/tags.h"

namespace penstock::runtime {

/// Returns the message tag of the edge that starts at chunk `producer`: activations to the next
/// chunk, or gradients to the previous one.
constexpr int edge_tag(int producer, bool gradient) {
  return comm::tags::edges + 2 * producer + (gradient ? 1 : 0);
}

}  // namespace penstock::runtime
