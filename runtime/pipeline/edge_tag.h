#pragma once

#include "comm/tags.h"

namespace penstock::runtime {

/// Of the messages that the chunk `producer` sends: activations on, or gradients back.
constexpr int edge_tag(int producer, bool gradient) {
  return comm::tags::edges + 2 * producer + (gradient ? 1 : 0);
}

}  // namespace penstock::runtime
