#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "layers/tensor/cuda_versions.h"

namespace penstock::comm {

/// Channels are blocks of threads with buffers of their own. A few of them saturate a GPU's link.
inline constexpr int kNcclChannels = 8;

struct NcclOptions {
  std::vector<int> ranks = {};  // ranks of the meeting that connect; empty: all of them
  /// Stream in which all messages run: a cudaStream_t of the calling thread's device.
  void* stream = nullptr;
  std::string name = "all ranks";  // for errors: "activations of chunk 0 from stage 0 to stage 1"
  double timeout_seconds = 60;     // limit for connecting
  int channels = kNcclChannels;    // channels that NCCL uses at once, at most
};

/// Ways in which NCCL's own all-reduce sends or receives on a rank, over its ring and its trees, at
/// most. A one-way edge has one way, and messages to and from n peers have 2 n.
inline constexpr int kNcclSumWays = 10;

/// Returns an upper bound, in bytes, on the device memory that NCCL takes on a rank for a
/// communicator with `ways` ways; NCCL can't be asked beforehand. It holds for NCCL 2.28 with its
/// defaults. Each way and channel has buffers of three protocols, 4 MiB (Simple, NCCL_BUFFSIZE),
/// 4.7 MiB (LL128) and 0.5 MiB (LL), in pages of 2 MiB. A margin of 16 MiB covers NCCL's other
/// memory.
[[nodiscard]] std::size_t nccl_memory(int ways, int channels = kNcclChannels);

/// Memory that one rank sends to a peer and receives from it.
struct NcclExchange {
  int peer = 0;
  std::span<const std::byte> sent = {};
  std::span<std::byte> received = {};
};

/// A communicator of ranks that send device memory to each other in stream order: a send reads what
/// earlier work of the stream has written, and later work of the stream sees a received message.
/// Ranks have the numbers of the meeting.
///
/// Messages between two ranks in one direction match in the order in which they are posted,
/// whatever their tags; so every edge has a communicator of its own. The first message on one waits
/// for the peer's call; later ones don't. A peer that died shows as a CommError in done() and
/// progress(), not as a hang: NCCL detects it on another machine, the meeting's ranks on this one.
class NcclCommunicator : public Communicator {
 public:
  /// Starts all of these messages as one group, in which none waits for another.
  virtual std::unique_ptr<Transfer> exchange(std::span<const NcclExchange> parts,
                                             const std::string& what) = 0;
  /// Replaces values by their sum over the ranks, in NCCL's order of additions. The sums are equal
  /// on all ranks, and from run to run on the same machines, but not equal to lane_reduction.h's.
  virtual std::unique_ptr<Transfer> all_reduce(std::span<float> values) = 0;
  virtual std::unique_ptr<Transfer> all_reduce(std::span<double> values) = 0;
};

/// Sets environment variables that keep ranks over NCCL from waiting for each other, unless they
/// are set already: CUDA_MODULE_LOADING, CUDA_DEVICE_MAX_CONNECTIONS, NCCL_LAUNCH_ORDER_IMPLICIT.
/// Call it before the first thread starts, since CUDA and NCCL read them at their first call.
void set_nccl_defaults();

/// Returns true if NCCL starts the messages of several communicators of a device in the order in
/// which the host posts them, which is the same on all ranks. This takes version 12.3 of both the
/// driver and the runtime (getImplicitOrder in NCCL's enqueue.cc). With an older CUDA each message
/// waits for the end of the one before it, so ranks that send to each other deadlock.
[[nodiscard]] bool nccl_orders_launches(const layers::CudaVersions& cuda);

/// Returns true if this build has NCCL.
[[nodiscard]] bool nccl_is_built();

/// Connects ranks of `meeting` over NCCL; they exchange NCCL's id over `meeting`. Each of them
/// calls it. `meeting` must outlive the result. If an exception passes the result's destructor,
/// meeting.shutdown() ends it; abort() ends `meeting`. CommError if they don't connect in time,
/// DeviceError if this build has no NCCL.
[[nodiscard]] std::unique_ptr<NcclCommunicator> make_nccl(Communicator& meeting,
                                                          const NcclOptions& options);

}  // namespace penstock::comm
