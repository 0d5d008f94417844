#pragma once

#include <nccl.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/nccl.h"
#include "comm/nccl/handle.h"

namespace penstock::comm {

/// NCCL's communicator, made without blocking: a call that NCCL has not finished is polled, with
/// progress on the communicator over which the ranks met, so that the failure of a peer is an
/// error here. Finalised; where an exception passes, revoked and left to the meeting's shutdown().
class NcclConnection {
 public:
  NcclConnection(Communicator& meeting, const NcclOptions& options);
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;
  ~NcclConnection();

  ncclComm_t get() const { return handle_->get(); }
  /// NCCL's number of a rank of the meeting. CommError where it is not connected.
  int number_of(int rank) const;
  /// Returns when NCCL has taken what `status` came from. CommError with NCCL's text otherwise.
  void await(ncclResult_t status, const char* doing);
  /// Makes progress on the meeting's messages. CommError if a peer failed behind our back, of which
  /// NCCL tells only on other machines.
  void check();

 private:
  ncclUniqueId exchange_id();
  void connect();
  bool finish() noexcept;
  [[noreturn]] void fail(const char* doing, ncclResult_t status);

  Communicator& meeting_;
  std::string name_;
  std::vector<int> ranks_;  // of the meeting, by NCCL's number
  double timeout_seconds_;
  int channels_;
  int exceptions_;
  std::shared_ptr<NcclHandle> handle_ = std::make_shared<NcclHandle>();
};

}  // namespace penstock::comm
