#include "comm/nccl/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <span>
#include <string>

#include "base/error.h"
#include "comm/communicator.h"
#include "comm/tags.h"

// A connection is made in three steps. Its handle is entered into the meeting's shutdown, so that a
// failure at any later point can end NCCL's kernels. The first rank makes NCCL's id and sends it to
// the others over the meeting. Then all ranks connect, each under its place in `ranks_`.
//
// NCCL runs without blocking: a call returns ncclInProgress, and await() polls until it is done.
// Each poll also moves the meeting's messages, which is how this rank learns that a peer has died,
// and compares the clock with the limit.

namespace penstock::comm {

namespace {

std::vector<int> all_of(const Communicator& meeting) {
  std::vector<int> ranks(static_cast<std::size_t>(meeting.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

NcclConnection::NcclConnection(Communicator& meeting, const NcclOptions& options)
    : meeting_(meeting),
      name_(options.name),
      ranks_(options.ranks.empty() ? all_of(meeting) : options.ranks),
      timeout_seconds_(options.timeout_seconds),
      channels_(options.channels),
      exceptions_(std::uncaught_exceptions()) {
  meeting_.shutdown().add(handle_);
  try {
    connect();
  } catch (...) {
    meeting_.shutdown().revoke();
    throw;
  }
}

NcclConnection::~NcclConnection() {
  if (get() == nullptr || handle_->revoked()) return;  // aborted, or shutdown() will abort it
  const bool passed = std::uncaught_exceptions() != exceptions_;
  if (passed || !finish()) meeting_.shutdown().revoke();
}

/// Finalises and destroys NCCL's communicator. Returns false if that fails, since the destructor
/// can't throw.
bool NcclConnection::finish() noexcept try {
  await(ncclCommFinalize(get()), "finishing");
  handle_->destroy();
  meeting_.shutdown().remove(*handle_);
  return true;
} catch (const std::exception&) {
  return false;
}

void NcclConnection::connect() {
  const int number = number_of(meeting_.rank());
  const ncclUniqueId id = exchange_id();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.maxCTAs = channels_;  // bounds NCCL's memory, too
  await(ncclCommInitRankConfig(handle_->place(), static_cast<int>(ranks_.size()), id, number,
                               &config),
        "connecting");
  handle_->connected();
}

/// Returns NCCL's id, which the first of the ranks makes and sends to the others.
ncclUniqueId NcclConnection::exchange_id() {
  ncclUniqueId id{};
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(&id, 1));
  const std::string what = "NCCL's id for " + name_;
  if (meeting_.rank() != ranks_.front()) {
    wait(meeting_, *meeting_.receive({ranks_.front(), tags::nccl, what}, bytes));
    return id;
  }
  if (const ncclResult_t status = ncclGetUniqueId(&id); status != ncclSuccess)
    fail("making an id", status);
  for (const int rank : std::span(ranks_).subspan(1))
    wait(meeting_, *meeting_.send({rank, tags::nccl, what}, bytes));
  return id;
}

int NcclConnection::number_of(int rank) const {
  const auto found = std::ranges::find(ranks_, rank);
  if (found == ranks_.end())
    throw CommError(
        fmt::format("rank {} is not among the ranks that NCCL connects for {}", rank, name_));
  return static_cast<int>(found - ranks_.begin());
}

void NcclConnection::await(ncclResult_t status, const char* doing) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds_);
  for (Backoff backoff; status == ncclInProgress; backoff.pause()) {
    meeting_.progress();
    if (const ncclResult_t asked = ncclCommGetAsyncError(get(), &status); asked != ncclSuccess)
      fail(doing, asked);
    if (std::chrono::steady_clock::now() > end) fail(doing, ncclInProgress);
  }
  if (status != ncclSuccess) fail(doing, status);
}

void NcclConnection::check() {
  meeting_.progress();
  ncclResult_t status = ncclSuccess;
  const ncclResult_t asked = ncclCommGetAsyncError(get(), &status);
  if (asked != ncclSuccess) fail("asking for errors", asked);
  if (status != ncclSuccess && status != ncclInProgress) fail("moving messages", status);
}

void NcclConnection::fail(const char* doing, ncclResult_t status) {
  const std::string detail = get() == nullptr ? "" : fmt::format("; {}", ncclGetLastError(get()));
  const std::string why = status == ncclInProgress
                              ? fmt::format("not done within {:g} s", timeout_seconds_)
                              : ncclGetErrorString(status);
  throw CommError(fmt::format("NCCL, {}, {} at rank {} of {}: {}{}", name_, doing, meeting_.rank(),
                              meeting_.size(), why, detail));
}

}  // namespace penstock::comm
