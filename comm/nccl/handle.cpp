#include "comm/nccl/handle.h"

#include <chrono>

#include "comm/communicator.h"

// NCCL has this function from version 2.28. It is null if an older version is loaded, whichever one
// the program was built with.
extern "C" [[gnu::weak]] ncclResult_t ncclCommRevoke(ncclComm_t communicator, int flags);

namespace penstock::comm {
namespace {

constexpr std::chrono::seconds kQuiet{5};  // time in which revoked kernels end

/// Waits until a revoked communicator is quiet, as NCCL demands before it is destroyed.
void await_quiet(ncclComm_t communicator) {
  const auto end = std::chrono::steady_clock::now() + kQuiet;
  ncclResult_t status = ncclInProgress;
  for (Backoff backoff; std::chrono::steady_clock::now() < end; backoff.pause())
    if (ncclCommGetAsyncError(communicator, &status) != ncclSuccess || status != ncclInProgress)
      return;
}

}  // namespace

bool nccl_revoke(ncclComm_t communicator) {
  if (ncclCommRevoke == nullptr) return false;
  const ncclResult_t status = ncclCommRevoke(communicator, 0);
  return status == ncclSuccess || status == ncclInProgress;
}

void NcclHandle::destroy() {
  if (communicator_ != nullptr) ncclCommDestroy(communicator_);
  communicator_ = nullptr;
}

// Without ncclCommRevoke, or before the connection stands, only ncclCommAbort ends the kernels, and
// it waits. So it runs in a thread, for abort() to join.
void NcclHandle::revoke() noexcept {
  if (communicator_ == nullptr || revoked_) return;
  revoked_ = true;
  if (connected_ && nccl_revoke(communicator_)) return;
  aborting_ = std::thread(ncclCommAbort, communicator_);  // ends its kernels first, then waits
}

void NcclHandle::abort() noexcept {
  if (communicator_ == nullptr) return;
  if (aborting_.joinable()) {
    aborting_.join();
  } else {
    await_quiet(communicator_);
    ncclCommAbort(communicator_);
  }
  communicator_ = nullptr;
}

}  // namespace penstock::comm
