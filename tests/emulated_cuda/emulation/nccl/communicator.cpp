// NCCL: communicators. All of them are such as do not block.
#include "tests/emulated_cuda/emulation/nccl/communicator.h"

#include <cstring>
#include <string>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/machine.h"

using namespace emulated_cuda;
using namespace emulated_cuda::nccl;

namespace {

ncclResult_t state_of(const Member& member, bool finishing) {
  if (finishing) return ncclInProgress;
  if (member.revoked) return ncclSuccess;
  if (member.clique->loss_shows_at(member.rank)) return ncclRemoteError;
  return member.clique->complete() ? ncclSuccess : ncclInProgress;
}

/// Cliques by their id, as long as one of their ranks is there.
std::map<unsigned, std::weak_ptr<Clique>>& cliques() {
  static std::map<unsigned, std::weak_ptr<Clique>> cliques;
  return cliques;
}

}  // namespace

namespace emulated_cuda::nccl {

Member& member_for_call(ncclComm_t communicator) {
  Member& member = *communicator->member;
  if (member.in_progress)
    fail("the call before is in progress: ask ncclCommGetAsyncError until it is not");
  if (member.revoked) fail("the communicator is revoked: nothing is left but to abort it");
  return member;
}

ncclResult_t accepted(Member& member) {
  member.in_progress = machine().order.chance(2);
  return member.in_progress ? ncclInProgress : ncclSuccess;
}

}  // namespace emulated_cuda::nccl

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const Call call("ncclGetUniqueId");
  static unsigned number = 0;
  ++number;
  *id = {};
  std::memcpy(id->internal, &number, sizeof number);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const Call call("ncclCommInitRankConfig");
  if (config->blocking != 0)
    fail(
        "a communicator that blocks, so that a dead peer would be a hang: set config.blocking = 0");
  if (config->maxCTAs < 1 || config->maxCTAs > 64)
    fail(
        "a communicator of as many channels as NCCL likes: set config.maxCTAs, by which its memory "
        "is ",
        "planned");
  unsigned number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  std::shared_ptr<Clique> clique = cliques()[number].lock();
  if (clique == nullptr) cliques()[number] = clique = std::make_shared<Clique>(size);
  if (clique->size() != size)
    fail("rank ", rank, " connects ", size, " ranks, another ", clique->size());
  clique->join(rank, machine().hosts_apart ? rank : 0);
  machine().changed.notify_all();
  *communicator = new ncclComm{std::make_shared<Member>(Member{clique, rank, call.host().device})};
  (*communicator)->member->in_progress = true;
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* status) {
  const Call call("ncclCommGetAsyncError");
  Member& member = *communicator->member;
  const bool finishing = (member.finalised || member.revoked) && !member.queued.empty();
  if (finishing) machine().streams.go_on();
  *status = state_of(member, finishing);
  member.in_progress = *status == ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  const Call call("ncclCommFinalize");
  Member& member = member_for_call(communicator);
  member.finalised = true;
  if (member.queued.empty()) return accepted(member);
  member.in_progress = true;
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  const Call call("ncclCommDestroy");
  if (!member_for_call(communicator).finalised) fail("finalise the communicator first");
  delete communicator;
  return ncclSuccess;
}

/// Its kernels end at once, those of the peers never.
ncclResult_t ncclCommRevoke(ncclComm_t communicator, int flags) {
  const Call call("ncclCommRevoke");
  Member& member = *communicator->member;
  if (!machine().revokes || flags != NCCL_REVOKE_DEFAULT || member.finalised || member.revoked)
    return ncclInvalidArgument;
  member.revoked = member.in_progress = true;
  member.clique->lose(member.rank);
  machine().changed.notify_all();
  return ncclInProgress;
}

/// Gives memory back, so that it waits for whatever runs on the device, other communicators'
/// kernels too.
ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  Call call("ncclCommAbort");
  const std::shared_ptr<Member> member = communicator->member;
  member->aborted = true;
  member->clique->lose(member->rank);
  machine().changed.notify_all();
  call.finish_device(member->device);
  delete communicator;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t status) {
  switch (status) {
    case ncclSuccess:
      return "no error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "an error that emulated NCCL does not return";
  }
}

const char* ncclGetLastError(ncclComm_t) { return "emulated NCCL"; }
