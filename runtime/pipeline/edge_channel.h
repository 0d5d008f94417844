#pragma once

#include "comm/channels.h"

namespace penstock {

/// Of the messages that the chunk `producer` sends: activations on, or gradients back.
constexpr int edge_channel(int producer, bool gradient) {
  return channels::edges + 2 * producer + (gradient ? 1 : 0);
}

}  // namespace penstock
