#pragma once

#include <nccl.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/nccl.h"
#include "comm/nccl/handle.h"

namespace penstock::comm {

/// NCCL's communicator, used without blocking. A call that NCCL has not finished is polled, with
/// progress() on the communicator over which the ranks met, so that a peer's failure raises an
/// error here. The destructor finalises it. If an exception propagates, it is revoked instead, and
/// the meeting's shutdown() aborts it.
class NcclConnection {
 public:
  NcclConnection(Communicator& meeting, const NcclOptions& options);
  NcclConnection(const NcclConnection&) = delete;
  NcclConnection& operator=(const NcclConnection&) = delete;
  ~NcclConnection();

  ncclComm_t get() const { return handle_->get(); }
  /// Returns NCCL's number of a rank of the meeting. CommError if that rank is not connected.
  int number_of(int rank) const;
  /// Waits until NCCL has accepted the call that returned `status`. CommError with NCCL's text
  /// otherwise.
  void await(ncclResult_t status, const char* doing);
  /// Makes progress on the meeting's messages. CommError if a peer has failed meanwhile; NCCL
  /// itself detects that only on other machines.
  void check();

 private:
  ncclUniqueId exchange_id();
  void connect();
  bool finish() noexcept;
  [[noreturn]] void fail(const char* doing, ncclResult_t status);

  Communicator& meeting_;
  std::string name_;
  std::vector<int> ranks_;  // ranks of the meeting, by NCCL's number
  double timeout_seconds_;
  int channels_;
  int exceptions_;
  std::shared_ptr<NcclHandle> handle_ = std::make_shared<NcclHandle>();
};

}  // namespace penstock::comm
