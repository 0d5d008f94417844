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

/// Channels are blocks of threads with buffers of their own. Some saturate the link of a GPU.
inline constexpr int kNcclChannels = 8;

struct NcclOptions {
  std::vector<int> ranks = {};  // of the meeting that connect; all of them where empty
  /// In which everything happens: a cudaStream_t of the calling thread's device.
  void* stream = nullptr;
  std::string name = "all ranks";  // "activations of chunk 0 from stage 0 to stage 1": for errors
  double timeout_seconds = 60;     // to connect
  int channels = kNcclChannels;    // over which NCCL sends at once, at most
};

/// Ways in which a rank sends or receives: a one-way edge is one, messages to and from n
/// peers 2 n, and NCCL's own sum at most kNcclSumWays, of its ring and its trees.
inline constexpr int kNcclSumWays = 10;

/// Device memory that NCCL takes on a rank for a communicator of so many ways, in bytes, at most:
/// nobody can ask it beforehand. Of NCCL 2.28 with its defaults: for each way and channel buffers
/// of its three protocols, 4 MiB (Simple, NCCL_BUFFSIZE), 4.7 MiB (LL128) and 0.5 MiB (LL), in
/// pages of 2 MiB; and a margin of 16 MiB for what it keeps besides.
[[nodiscard]] std::size_t nccl_memory(int ways, int channels = kNcclChannels);

/// What one rank gives to another, and gets from it.
struct NcclExchange {
  int peer = 0;
  std::span<const std::byte> sent = {};
  std::span<std::byte> received = {};
};

/// Ranks, numbered as where they met, that send device memory to each other in the order of a
/// stream: what is sent is what the stream has left there, and what it is asked for behind a call
/// finds the message. Messages of two ranks in one direction are matched in the order in which they
/// are posted, whatever their tags: every edge has a communicator of its own. Its first message
/// waits for the peer's call; later ones don't. A peer that died shows as CommError in done() and
/// progress(), not as a hang: on another machine NCCL sees it, on this one the meeting's ranks do.
class NcclCommunicator : public Communicator {
 public:
  /// All of these messages pass together: none waits for another.
  virtual std::unique_ptr<Transfer> exchange(std::span<const NcclExchange> parts,
                                             const std::string& what) = 0;
  /// values = the sum over the ranks, in NCCL's order: equal on all ranks, and from run to run on
  /// the same machines, but not equal to lane_reduction.h's.
  virtual std::unique_ptr<Transfer> all_reduce(std::span<float> values) = 0;
  virtual std::unique_ptr<Transfer> all_reduce(std::span<double> values) = 0;
};

/// Sets variables of the environment that keep ranks over NCCL from waiting for each other, where
/// nobody has: CUDA_MODULE_LOADING, CUDA_DEVICE_MAX_CONNECTIONS, NCCL_LAUNCH_ORDER_IMPLICIT. To be
/// called before there are threads: CUDA and NCCL read them at their first call.
void suit_nccl();

/// Whether NCCL starts the messages of several communicators of a device in the order in which the
/// host asks for them, which is the same on all ranks. With an older CUDA each waits for the one
/// before it to end, and ranks that send to each other wait for ever. That takes 12.3 of the driver
/// and of the runtime (getImplicitOrder in NCCL's enqueue.cc).
[[nodiscard]] bool nccl_orders_launches(const layers::CudaVersions& cuda);

/// Whether this build has NCCL.
[[nodiscard]] bool nccl_is_built();

/// Connects ranks of `meeting`, over which they exchange NCCL's id: every one of them calls this.
/// `meeting` must outlive it, and its shutdown() ends what an exception passes; abort() ends
/// `meeting`. CommError where they don't connect in time,
/// DeviceError where this build has no NCCL.
[[nodiscard]] std::unique_ptr<NcclCommunicator> make_nccl(Communicator& meeting,
                                                          const NcclOptions& options);

}  // namespace penstock::comm
