#pragma once

#include <nccl.h>

#include <deque>
#include <memory>

#include "tests/emulated_cuda/emulation/nccl/clique.h"

namespace emulated_cuda::nccl {

/// A rank of a clique.
struct Member {
  std::shared_ptr<Clique> clique;
  int rank;
  int device;
  /// Numbers of what it has in streams: a communicator does one thing after the other, in the order
  /// of the calls, whatever the streams.
  std::deque<unsigned> queued = {};
  unsigned calls = 0;
  bool in_progress = false;  // since its last call, of which nobody has asked
  bool finalised = false, revoked = false, aborted = false;

  /// Whether its kernels end without their messages.
  bool ends_early() const { return revoked || aborted; }
};

/// fail() where the last call was in progress and nobody has asked how it went, or where the
/// communicator is revoked.
Member& member_for_call(ncclComm_t communicator);

/// Success, or that it is in progress, which penstock must then ask about: at random.
ncclResult_t accepted(Member& member);

}  // namespace emulated_cuda::nccl

struct ncclComm {
  std::shared_ptr<emulated_cuda::nccl::Member> member;
};
