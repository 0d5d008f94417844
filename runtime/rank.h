#pragma once

namespace penstock {

/// Where a process stands in the grid of stages and replicas.
struct RankCoordinates {
  int stage = 0;
  int replica = 0;
  int slice = 1;  // of a layer; always 1 until layers are sliced
};

}  // namespace penstock
