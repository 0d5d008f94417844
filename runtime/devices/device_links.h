#pragma once

namespace penstock::runtime {

/// How what lies in devices' memory passes from rank to rank.
enum class DeviceLinks {
  host,  // through pinned memory, by the ranks' own messages
  nccl,  // from device to device; every rank has one of its own
};

/// How replicas' gradients are added.
enum class ReductionOrder {
  lanes,    // one order for every layout
  library,  // NCCL's, where links are its
};

}  // namespace penstock::runtime
