#pragma once

#include <nccl.h>

#include <string>
#include <vector>

#include "comm/nccl.h"

namespace penstock::comm {

/// NCCL's communicator, made without blocking: a call that NCCL has not finished is polled, with
/// progress on the communicator over which the ranks met, so that the failure of a peer is an
/// error here. Aborted where an exception passes, else finalised.
class NcclConnection {
 public:
  NcclConnection(Communicator& meeting, const NcclOptions& options);
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;
  ~NcclConnection();

  ncclComm_t get() const { return communicator_; }
  /// NCCL's number of a rank of the meeting. CommError where it is not connected.
  int number_of(int rank) const;
  /// Returns when NCCL has taken what `status` came from. CommError with NCCL's text otherwise.
  void await(ncclResult_t status, const char* doing);
  /// CommError if a transfer failed behind our back.
  void check();
  /// Frees the ranks that wait for this one.
  void abort() noexcept;

 private:
  ncclUniqueId exchange_id();
  [[noreturn]] void fail(const char* doing, ncclResult_t status);

  Communicator& meeting_;
  std::string name_;
  std::vector<int> ranks_;  // of the meeting, by NCCL's number
  double timeout_seconds_;
  int exceptions_;
  ncclComm_t communicator_ = nullptr;
};

}  // namespace penstock::comm
