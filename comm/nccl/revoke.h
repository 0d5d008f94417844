#pragma once

#include <nccl.h>

namespace penstock::comm {

/// Tells the communicator's kernels to end, without waiting. False where NCCL refuses, or is too
/// old to be asked.
[[nodiscard]] bool nccl_revoke(ncclComm_t communicator);

}  // namespace penstock::comm
