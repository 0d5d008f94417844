// Run alone, by tools/ranks or under mpirun with any number of ranks, all of which run the same
// tests in the same order, on device 0 (NCCL_HOSTID differs between ranks that share a GPU) or one
// device for each. Rank 0 alone says verdicts: a test that fails or is skipped on another rank is
// so there. The others say on standard error why one fails.

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/join.h"
#include "layers/backend.h"
#include "tests/comm/nccl/nccl_cases.h"
#include "tests/comm/nccl/nccl_schedules.h"

namespace penstock::comm {
namespace {

class Nccl : public ::testing::Test {
 public:
  static void set_world(Communicator& world) { world_ = &world; }
  static bool apart() { return apart_; }

 protected:
  void SetUp() override {
    if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  }

  /// Rank 0 learns what the others found. Where a test has left the ranks apart, none follows it.
  void TearDown() override {
    try {
      agree();
    } catch (const CommError& error) {
      ADD_FAILURE() << error.what();
      apart_ = true;
    }
  }

  static inline Communicator* world_ = nullptr;
  static inline bool apart_ = false;

 private:
  void agree() {
    std::vector<double> found(2 * static_cast<std::size_t>(world_->size()));
    const auto own = 2 * static_cast<std::size_t>(world_->rank());
    found[own] = HasFailure();
    found[own + 1] = IsSkipped();
    sum_disjoint(*world_, found);
    if (world_->rank() != 0) return;
    for (int rank = 1; rank < world_->size(); ++rank) {
      const auto at = 2 * static_cast<std::size_t>(rank);
      if (found[at] > 0) ADD_FAILURE() << "it fails on rank " << rank;
      if (found[at + 1] > 0 && !IsSkipped()) ADD_FAILURE() << "rank " << rank << " skips it";
    }
  }
};

TEST_F(Nccl, PassesMessagesDownTheLine) {
  if (world_->size() == 1) GTEST_SKIP() << "one rank has nobody to send to";
  nccl_passes_messages_down_the_line(*world_);
}

TEST_F(Nccl, TrainsAsOneStage) {
  if (world_->size() == 1) GTEST_SKIP() << "one rank is one stage";
  nccl_trains_as_one_stage(*world_);
}

TEST_F(Nccl, AddsTwoReplicasItself) {
  if (world_->size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks is not two replicas";
  nccl_adds_two_replicas_itself(*world_);
}

TEST_F(Nccl, AddsOverAllRanks) { nccl_adds_over_all_ranks(*world_); }

class NcclSchedules : public Nccl, public ::testing::WithParamInterface<NcclSchedule> {};

TEST_P(NcclSchedules, EqualOneRank) { nccl_equals_one_rank(GetParam(), *world_); }

/// Says failures alone, and which rank's they are.
class Failures : public ::testing::EmptyTestEventListener {
 public:
  explicit Failures(int rank) : rank_(rank) {}

 private:
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.failed()) std::cerr << "rank " << rank_ << ": " << result.message() << std::endl;
  }

  int rank_;
};

/// Ends the process after a test that has left the ranks apart. Tests that have not run yet are
/// then tried in other processes.
class EndOfRanksApart : public ::testing::EmptyTestEventListener {
  void OnTestEnd(const ::testing::TestInfo&) override {
    if (Nccl::apart()) std::_Exit(1);
  }
};

/// The end of a test comes to the last listener first.
void leave_verdicts_to_rank_0(int rank) {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  std::unique_ptr<::testing::TestEventListener> printer(
      listeners.Release(listeners.default_result_printer()));
  listeners.Append(new EndOfRanksApart);
  listeners.Append(rank == 0 ? printer.release() : new Failures(rank));
}

std::vector<NcclSchedule> schedules_of_this_job() {
  const char* ranks = std::getenv("PENSTOCK_RANKS");
  return nccl_schedules(ranks != nullptr ? std::atoi(ranks) : 2);
}

INSTANTIATE_TEST_SUITE_P(Nccl, NcclSchedules, ::testing::ValuesIn(schedules_of_this_job()),
                         [](const auto& tested) { return tested.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NcclSchedules);

}  // namespace
}  // namespace penstock::comm

int main(int argc, char** argv) {
  const auto world = penstock::comm::join_job();
  ::testing::InitGoogleTest(&argc, argv);
  penstock::comm::leave_verdicts_to_rank_0(world->rank());
  penstock::comm::Nccl::set_world(*world);
  return RUN_ALL_TESTS();
}
