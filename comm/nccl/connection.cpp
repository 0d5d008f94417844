#include "comm/nccl/connection.h"

#include <chrono>
#include <exception>
#include <span>
#include <string>

#include "comm/backoff.h"
#include "comm/collectives.h"
#include "layers/tensor/error.h"

namespace penstock {

NcclConnection::NcclConnection(Communicator& meeting, const NcclOptions& options)
    : meeting_(meeting),
      timeout_seconds_(options.timeout_seconds),
      exceptions_(std::uncaught_exceptions()) {
  ncclUniqueId id{};
  if (meeting.rank() == 0)
    if (const ncclResult_t status = ncclGetUniqueId(&id); status != ncclSuccess)
      fail("making an id", status);
  broadcast(meeting, std::as_writable_bytes(std::span(&id, 1)));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  const ncclResult_t status =
      ncclCommInitRankConfig(&communicator_, meeting.size(), id, meeting.rank(), &config);
  try {
    settle(status, "connecting");
  } catch (...) {
    abort();
    throw;
  }
}

NcclConnection::~NcclConnection() {
  if (communicator_ == nullptr) return;
  if (std::uncaught_exceptions() != exceptions_) {
    abort();
    return;
  }
  try {
    settle(ncclCommFinalize(communicator_), "finishing");
    ncclCommDestroy(communicator_);
  } catch (const CommError&) {
    // fail() has aborted it, and a destructor can't say more.
  }
}

void NcclConnection::settle(ncclResult_t status, const char* doing) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds_);
  for (Backoff backoff; status == ncclInProgress; backoff.pause()) {
    meeting_.progress();
    if (const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &status);
        asked != ncclSuccess)
      fail(doing, asked);
    if (std::chrono::steady_clock::now() > end) fail(doing, ncclInProgress);
  }
  if (status != ncclSuccess) fail(doing, status);
}

void NcclConnection::check() {
  ncclResult_t status = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(communicator_, &status);
  if (asked != ncclSuccess) fail("asking for errors", asked);
  if (status != ncclSuccess && status != ncclInProgress) fail("moving messages", status);
}

void NcclConnection::abort() noexcept {
  if (communicator_ != nullptr) ncclCommAbort(communicator_);
  communicator_ = nullptr;
}

void NcclConnection::fail(const char* doing, ncclResult_t status) {
  const std::string detail =
      communicator_ == nullptr ? "" : std::string("; ") + ncclGetLastError(communicator_);
  abort();
  throw CommError("NCCL, " + std::string(doing) + " at rank " + std::to_string(meeting_.rank()) +
                  " of " + std::to_string(meeting_.size()) + ": " +
                  (status == ncclInProgress
                       ? "not done within " + std::to_string(timeout_seconds_) + " s"
                       : ncclGetErrorString(status)) +
                  detail);
}

}  // namespace penstock
