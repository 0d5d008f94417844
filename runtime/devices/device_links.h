#pragma once

namespace penstock::runtime {

/// The path of messages from one device's memory to another's.
enum class DeviceLinks {
  host,  // through pinned host memory, by the ranks' own messages
  nccl,  // from device to device; every rank has its own device
};

/// The order in which replicas' gradients are reduced.
enum class ReductionOrder {
  lanes,    // one order for every layout of replicas
  library,  // NCCL's order, if links are NCCL's
};

}  // namespace penstock::runtime
