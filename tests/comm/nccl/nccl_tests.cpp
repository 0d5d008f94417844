// Run alone, by tools/ranks or under mpirun with any number of ranks, all of which run the same
// tests in the same order, on device 0 (NCCL_HOSTID differs between ranks that share a GPU) or one
// device for each.

#include <gtest/gtest.h>

#include <memory>

#include "comm/join.h"
#include "layers/backend.h"
#include "tests/comm/nccl/nccl_cases.h"

namespace penstock::comm {
namespace {

class Nccl : public ::testing::Test {
 public:
  static void set_world(Communicator& world) { world_ = &world; }

 protected:
  void SetUp() override {
    if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  }

  static inline Communicator* world_ = nullptr;
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

}  // namespace
}  // namespace penstock::comm

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const auto world = penstock::comm::join_job();
  penstock::comm::Nccl::set_world(*world);
  return RUN_ALL_TESTS();
}
