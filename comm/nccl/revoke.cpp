#include "comm/nccl/revoke.h"

// NCCL 2.28 has it. Null where a program runs with an older one, whichever it was built with.
extern "C" [[gnu::weak]] ncclResult_t ncclCommRevoke(ncclComm_t communicator, int flags);

namespace penstock::comm {

bool nccl_revoke(ncclComm_t communicator) {
  if (ncclCommRevoke == nullptr) return false;
  const ncclResult_t status = ncclCommRevoke(communicator, 0);
  return status == ncclSuccess || status == ncclInProgress;
}

}  // namespace penstock::comm
