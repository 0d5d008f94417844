#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <deque>
#include <utility>
#include <vector>

#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {

/// Ranks of one thread, on devices 0, 1, …, and the numbers that each of them has.
class Ranks {
 public:
  explicit Ranks(int size) {
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    for (int rank = 0; rank < size; ++rank) {
      check(cudaSetDevice(rank), "choosing");
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      config.maxCTAs = 1;
      communicators_.emplace_back();
      ncclCommInitRankConfig(&communicators_.back(), size, id, rank, &config);
      streams_.push_back(penstock::layers::cuda::make_stream_handle());
      arrays_.emplace_back(2);
      arrays_.back().pinned()[0] = arrays_.back().pinned()[1] = rank;
      arrays_.back().upload(stream(rank));
      check(cudaStreamSynchronize(stream(rank)), "waiting");
    }
    check(cudaSetDevice(0), "choosing");
    await();
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    for (ncclComm_t communicator : communicators_) {
      if (communicator == nullptr) continue;
      await(ncclCommFinalize(communicator), communicator);
      ncclCommDestroy(communicator);
    }
  }

  cudaStream_t stream(int rank) const { return streams_[static_cast<std::size_t>(rank)].get(); }
  const DeviceArray<int>& array(int rank) const { return arrays_[static_cast<std::size_t>(rank)]; }

  /// The first number of one rank becomes the second of the other.
  void send(int rank, int to) {
    await(ncclSend(array(rank).data(), 1, ncclInt32, to, of(rank), stream(rank)), of(rank));
  }
  void receive(int rank, int from, std::size_t count = 1) {
    await(ncclRecv(array(rank).data() + 1, count, ncclInt32, from, of(rank), stream(rank)),
          of(rank));
  }
  void revoke(int rank) { ncclCommRevoke(of(rank), NCCL_REVOKE_DEFAULT); }
  void abort(int rank) {
    ncclCommAbort(std::exchange(communicators_[static_cast<std::size_t>(rank)], nullptr));
  }
  /// Returns the asynchronous error that NCCL reports for the rank.
  ncclResult_t state(int rank) const {
    ncclResult_t status = ncclSuccess;
    ncclCommGetAsyncError(of(rank), &status);
    return status;
  }
  int received(int rank) const { return array(rank).values(stream(rank))[1]; }
  ncclComm_t of(int rank) const { return communicators_[static_cast<std::size_t>(rank)]; }
  void await() const {
    for (ncclComm_t communicator : communicators_) await(ncclInProgress, communicator);
  }

 private:
  static void await(ncclResult_t status, ncclComm_t communicator) {
    while (status == ncclInProgress) ncclCommGetAsyncError(communicator, &status);
    EXPECT_EQ(status, ncclSuccess);
  }

  std::vector<ncclComm_t> communicators_;
  std::vector<penstock::layers::cuda::StreamHandle> streams_;
  std::deque<DeviceArray<int>> arrays_;
};

}  // namespace emulated_cuda::test
