// NCCL between ranks that are threads, each with a device of its own.

#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>

#include "comm/threads.h"
#include "tests/comm/nccl/nccl_cases.h"
#include "tests/comm/nccl/nccl_schedules.h"
#include "tests/emulated_cuda/nccl_ranks.h"

namespace emulated_cuda::test {
namespace {

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

// tools/gpu_check runs all of these on a GPU. One alone runs here: those with attention take
// minutes.
TEST(Nccl, EqualsOneRankInterleaved) {
  const auto schedules = penstock::comm::nccl_schedules(2);
  const auto found =
      std::ranges::find(schedules, "stages_interleaved", &penstock::comm::NcclSchedule::name);
  ASSERT_NE(found, schedules.end());
  penstock::comm::run_as_threads({.ranks = 2}, [&](penstock::comm::Communicator& world) {
    penstock::comm::nccl_equals_one_rank(*found, world);
  });
}

TEST(Nccl, AddsTwoReplicasItself) {
  penstock::comm::run_as_threads({.ranks = 2}, penstock::comm::nccl_adds_two_replicas_itself);
}

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
