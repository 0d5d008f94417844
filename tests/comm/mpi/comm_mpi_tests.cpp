// Run under mpirun with any number of ranks, all of which run the same tests in the same order.

#include <gtest/gtest.h>
#include <stdlib.h>

#include "comm/join.h"
#include "comm/mpi/open_mpi.h"
#include "tests/support/comm/communicator_cases.h"

namespace penstock::comm {
namespace {

class Mpi : public ::testing::Test {
 public:
  static void set_world(Communicator& world) { world_ = &world; }

 protected:
  Communicator& world() { return *world_; }

 private:
  static inline Communicator* world_ = nullptr;
};

TEST_F(Mpi, KeepsOrderUnderEachTag) { test::messages_keep_their_order_on_each_channel(world()); }
TEST_F(Mpi, MovesEmptyMessages) { test::empty_messages_arrive(world()); }
TEST_F(Mpi, RunsARing) { test::ring_of_long_messages_does_not_deadlock(world()); }
TEST_F(Mpi, MovesLongMessagesWhileComputing) {
  test::long_messages_arrive_while_the_receiver_computes(world());
}
TEST_F(Mpi, AgreesInCollectives) { test::collectives_agree(world()); }
TEST_F(Mpi, KeepsGroupsApart) { test::groups_do_not_mix(world()); }

TEST_F(Mpi, LeavesSettingsOfTheEnvironment) {
  const char* const depth = "OMPI_MCA_pml_ob1_send_pipeline_depth";
  unsetenv(depth);
  set_open_mpi_defaults();
  EXPECT_STREQ(getenv(depth), "64");
  setenv(depth, "5", 1);
  set_open_mpi_defaults();
  EXPECT_STREQ(getenv(depth), "5");
}

TEST_F(Mpi, RankInJobIsTheRankInMpi) { EXPECT_EQ(rank_in_job(), world().rank()); }

}  // namespace
}  // namespace penstock::comm

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  // Pieces of this size cut the long messages of the tests, and one exactly.
  const auto world = penstock::comm::join_mpi({.piece_bytes = 1 << 20});
  penstock::comm::Mpi::set_world(*world);
  return RUN_ALL_TESTS();
}
