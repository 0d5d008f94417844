#include "comm/threads.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/comm/communicator_cases.h"

namespace penstock::comm {
namespace {

class Threads : public ::testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  void run(void (*body)(Communicator&)) {
    run_as_threads({std::get<0>(GetParam()), std::get<1>(GetParam())}, body);
  }
};

TEST_P(Threads, KeepOrderUnderEachTag) { run(test::messages_keep_their_order_on_each_channel); }
TEST_P(Threads, MoveEmptyMessages) { run(test::empty_messages_arrive); }
TEST_P(Threads, RunARing) { run(test::ring_of_long_messages_does_not_deadlock); }
TEST_P(Threads, AgreeInCollectives) { run(test::collectives_agree); }
TEST_P(Threads, KeepGroupsApart) { run(test::groups_do_not_mix); }

INSTANTIATE_TEST_SUITE_P(Ranks, Threads,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5), ::testing::Bool()));

TEST(ThreadsRendezvous, SendIsDoneOnceItsReceiveIsPosted) {
  const auto ranks = make_thread_communicators({.ranks = 2, .rendezvous = true});
  std::vector<std::byte> out(3), in(3);
  auto send = ranks[0]->send({1, 0, "x"}, out);
  EXPECT_FALSE(send->done());
  auto receive = ranks[1]->receive({0, 0, "x"}, in);
  EXPECT_TRUE(send->done());
  EXPECT_TRUE(receive->done());
}

TEST(ThreadsRendezvous, CopiedSendIsDoneAtOnce) {
  const auto ranks = make_thread_communicators({.ranks = 2, .rendezvous = false});
  auto out = test::noise(3, 1);
  EXPECT_TRUE(ranks[0]->send({1, 0, "x"}, out)->done());
  out.assign(3, std::byte{});
  std::vector<std::byte> in(3);
  EXPECT_TRUE(ranks[1]->receive({0, 0, "x"}, in)->done());
  EXPECT_EQ(in, test::noise(3, 1));
}

TEST(ThreadsFailure, AbandonedSendLeavesItsMemoryAlone) {
  const auto ranks = make_thread_communicators({.ranks = 2, .rendezvous = true});
  { ranks[0]->send({1, 0, "x"}, std::vector<std::byte>(3)); }
  std::vector<std::byte> in(3);
  EXPECT_FALSE(ranks[1]->receive({0, 0, "x"}, in)->done());
}

TEST(ThreadsFailure, OtherSizeIsRejectedOnBothSides) {
  const auto ranks = make_thread_communicators({.ranks = 2, .rendezvous = true});
  std::vector<std::byte> out(8), in(12);
  auto send = ranks[0]->send({1, 4, "activation of micro-batch 3"}, out);
  auto receive = ranks[1]->receive({0, 4, "activation of micro-batch 3"}, in);
  for (Transfer* side : {send.get(), receive.get()}) try {
      side->done();
      FAIL() << "taken as one message";
    } catch (const CommError& error) {
      const std::string text = error.what();
      for (const char* part : {"rank 1", "12 bytes", "tag 4", "rank 0", "8", "micro-batch 3"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
    }
}

TEST(ThreadsFailure, PeerOutsideIsRejected) {
  const auto ranks = make_thread_communicators({.ranks = 2});
  EXPECT_THROW(ranks[0]->send({2, 0, "x"}, {}), CommError);
  EXPECT_THROW(ranks[0]->receive({-1, 0, "x"}, {}), CommError);
}

TEST(ThreadsFailure, AbortWakesTheOthersAndThrowsItsCause) {
  std::atomic<int> woken = 0;
  try {
    run_as_threads({.ranks = 3}, [&](Communicator& world) {
      if (world.rank() == 1) throw DataError("the disk is gone");
      std::vector<std::byte> in(5);
      try {
        wait(world, *world.receive({1, 0, "never sent"}, in));
      } catch (const CommError& error) {
        EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
        ++woken;
        throw;
      }
    });
    FAIL() << "nothing was raised";
  } catch (const DataError& error) {
    EXPECT_STREQ(error.what(), "the disk is gone");
  }
  EXPECT_EQ(woken, 2);
}

}  // namespace
}  // namespace penstock::comm
