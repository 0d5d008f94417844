#pragma once

#include <nccl.h>

#include <thread>

#include "comm/shutdown.h"

namespace penstock::comm {

/// Asks the communicator's kernels to end, without waiting. Returns false if NCCL refuses, or is
/// too old to have ncclCommRevoke.
[[nodiscard]] bool nccl_revoke(ncclComm_t communicator);

/// Owns an ncclComm_t and ends it in one of two ways: by destroy(), or by revoke() and abort().
class NcclHandle final : public Abortable {
 public:
  ncclComm_t get() const { return communicator_; }
  /// Returns the address at which NCCL stores the communicator when it connects.
  ncclComm_t* place() { return &communicator_; }
  /// Records that NCCL has connected it. Only a connected communicator can be revoked.
  void connected() { connected_ = true; }
  /// True after revoke(): abort() alone can end it.
  bool revoked() const { return revoked_; }

  /// Destroys a communicator that is finalised, or null.
  void destroy();
  void revoke() noexcept override;
  void abort() noexcept override;

 private:
  ncclComm_t communicator_ = nullptr;
  bool connected_ = false, revoked_ = false;
  std::thread aborting_;  // aborts a communicator that can't be revoked
};

}  // namespace penstock::comm
