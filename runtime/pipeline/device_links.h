#pragma once

namespace penstock {

/// How what lies in devices' memory passes from rank to rank.
enum class DeviceLinks {
  host,  // through pinned memory, by the ranks' own messages
  nccl,  // from device to device; every rank has one of its own
};

}  // namespace penstock
