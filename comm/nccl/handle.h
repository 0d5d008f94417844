#pragma once

#include <nccl.h>

#include <thread>

#include "comm/shutdown.h"

namespace penstock::comm {

/// Owns what NCCL calls a communicator, and ends it in one of two ways: by destroy(), or by
/// revoke() and abort().
class NcclHandle final : public Abortable {
 public:
  ncclComm_t get() const { return communicator_; }
  /// Where NCCL is to put it.
  ncclComm_t* place() { return &communicator_; }
  /// NCCL has connected it: only then can it be revoked.
  void connected() { connected_ = true; }
  /// Then it ends by abort() alone.
  bool revoked() const { return revoked_; }

  /// One that is finalised, or null.
  void destroy();
  void revoke() noexcept override;
  void abort() noexcept override;

 private:
  ncclComm_t communicator_ = nullptr;
  bool connected_ = false, revoked_ = false;
  std::thread aborting_;  // of one that can't be revoked
};

}  // namespace penstock::comm
