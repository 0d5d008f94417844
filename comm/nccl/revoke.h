#pragma once

#include <nccl.h>

namespace penstock::comm {

/// Asks the communicator's kernels to end, without waiting. Returns false if NCCL refuses, or is
/// too old to have ncclCommRevoke.
[[nodiscard]] bool nccl_revoke(ncclComm_t communicator);

}  // namespace penstock::comm
