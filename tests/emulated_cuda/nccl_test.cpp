// NCCL between ranks that are threads, each with a device of its own.

#include <gtest/gtest.h>
#include <nccl.h>

#include <deque>
#include <vector>

#include "comm/threads.h"
#include "tests/comm/nccl/nccl_cases.h"
#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

using penstock::comm::Communicator;
using penstock::comm::run_as_threads;
using penstock::layers::cuda::make_stream_handle;
using penstock::layers::cuda::StreamHandle;
using Failed = ::testing::ExitedWithCode;

constexpr int kFailed = 99;

TEST(Nccl, PassesMessagesDownTheLine) {
  for (int ranks : {2, 4})
    penstock::comm::run_as_threads({.ranks = ranks},
                                   penstock::comm::nccl_passes_messages_down_the_line);
}

TEST(Nccl, AddsOverAllRanks) {
  for (int ranks : {1, 2, 3})
    penstock::comm::run_as_threads({.ranks = ranks}, penstock::comm::nccl_adds_over_all_ranks);
}

TEST(Nccl, TrainsAsOneStage) {
  penstock::comm::run_as_threads({.ranks = 2}, penstock::comm::nccl_trains_as_one_stage);
}

TEST(Nccl, AddsTwoReplicasItself) {
  penstock::comm::run_as_threads({.ranks = 2}, penstock::comm::nccl_adds_two_replicas_itself);
}

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
      streams_.push_back(make_stream_handle());
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
  std::vector<StreamHandle> streams_;
  std::deque<DeviceArray<int>> arrays_;
};

TEST(Nccl, SendHoldsTheStreamUntilItIsReceived) {
  Ranks ranks(2);
  ranks.send(0, 1);
  const penstock::layers::cuda::EventHandle sent = penstock::layers::cuda::make_event_handle();
  check(cudaEventRecord(sent.get(), ranks.stream(0)), "recording");
  for (int poll = 0; poll < 5; ++poll) EXPECT_EQ(cudaEventQuery(sent.get()), cudaErrorNotReady);
  ranks.receive(1, 0);
  EXPECT_EQ(ranks.received(1), 0);
  check(cudaEventSynchronize(sent.get()), "waiting");
}

TEST(Nccl, GroupedMessagesPassEachOther) {
  Ranks ranks(2);
  for (int rank : {0, 1}) {
    ncclGroupStart();
    ranks.send(rank, 1 - rank);
    ranks.receive(rank, 1 - rank);
    ncclGroupEnd();
    ranks.await();
  }
  EXPECT_EQ(ranks.received(0), 1);
  EXPECT_EQ(ranks.received(1), 0);
}

TEST(Nccl, MessagesOfDifferentSizesAreRejected) {
  Ranks ranks(2);
  ranks.send(0, 1);
  EXPECT_EXIT(
      {
        ranks.receive(1, 0, 0);
        ranks.received(1);
      },
      Failed(kFailed), "rank 0 sends 4 bytes to rank 1, which receives 0");
  ranks.receive(1, 0);
}

TEST(Nccl, HostMemoryIsRejected) {
  Ranks ranks(2);
  EXPECT_EXIT(
      ncclSend(ranks.array(0).pinned().data(), 1, ncclInt32, 1, ranks.of(0), ranks.stream(0)),
      Failed(kFailed), "what is sent.*is pinned memory(.|\n)*in ncclSend");
}

}  // namespace
}  // namespace emulated_cuda::test
