#include "comm/nccl/revoke.h"

// NCCL has this function from version 2.28. It is null if an older version is loaded, whichever one
// the program was built with.
extern "C" [[gnu::weak]] ncclResult_t ncclCommRevoke(ncclComm_t communicator, int flags);

namespace penstock::comm {

bool nccl_revoke(ncclComm_t communicator) {
  if (ncclCommRevoke == nullptr) return false;
  const ncclResult_t status = ncclCommRevoke(communicator, 0);
  return status == ncclSuccess || status == ncclInProgress;
}

}  // namespace penstock::comm
