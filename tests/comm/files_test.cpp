#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/join.h"
#include "comm/threads.h"
#include "tests/support/comm/communicator_cases.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::comm {
namespace {

/// Ranks on threads, of which each meets the others in the folder alone.
class Files : public ::testing::TestWithParam<int> {
 protected:
  void run(void (*body)(Communicator&)) {
    run_as_threads({GetParam()}, [&](Communicator& thread) {
      body(*join_files({folder_.path(), thread.rank(), thread.size()}));
    });
  }

  test::TemporaryFolder folder_;
};

TEST_P(Files, KeepOrderUnderEachTag) { run(test::messages_keep_their_order_on_each_channel); }
TEST_P(Files, MoveEmptyMessages) { run(test::empty_messages_arrive); }
TEST_P(Files, RunARing) { run(test::ring_of_long_messages_does_not_deadlock); }
TEST_P(Files, AgreeInCollectives) { run(test::collectives_agree); }
TEST_P(Files, KeepGroupsApart) { run(test::groups_do_not_mix); }

INSTANTIATE_TEST_SUITE_P(Ranks, Files, ::testing::Values(1, 2, 3));

TEST(FilesFailure, OtherSizeIsRejected) {
  const test::TemporaryFolder folder;
  const auto sender = join_files({folder.path(), 0, 2}),
             receiver = join_files({folder.path(), 1, 2});
  std::vector<std::byte> in(12);
  sender->send({1, 4, "x"}, std::vector<std::byte>(8));
  const auto receive = receiver->receive({0, 4, "activation of micro-batch 3"}, in);
  EXPECT_EQ(test::message_of<CommError>([&] { receive->done(); }),
            "rank 1, receiving 12 bytes (activation of micro-batch 3), peer rank 0, tag 4: 8 "
            "bytes came");
}

TEST(FilesFailure, PeerAndRankOutsideAreRejected) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(join_files({folder.path(), 2, 2}), CommError);
  const auto rank = join_files({folder.path(), 0, 2});
  EXPECT_THROW(rank->send({2, 0, "x"}, {}), CommError);
  EXPECT_THROW(rank->receive({-1, 0, "x"}, {}), CommError);
}

TEST(FilesFailure, FolderOfAnEarlierJobIsRejected) {
  const test::TemporaryFolder folder;
  join_files({folder.path(), 0, 2});
  EXPECT_NE(test::message_of<CommError>([&] {
              join_files({folder.path(), 0, 2});
            }).find("an empty folder"),
            std::string::npos);
}

TEST(FilesFailure, AbortWakesTheOthers) {
  const test::TemporaryFolder folder;
  const auto failing = join_files({folder.path(), 0, 2}),
             waiting = join_files({folder.path(), 1, 2});
  std::vector<std::byte> in(5);
  const auto receive = waiting->receive({0, 0, "never sent"}, in);
  EXPECT_FALSE(receive->done());
  EXPECT_THROW(failing->abort(3), CommError);
  EXPECT_THROW(wait(*waiting, *receive), CommError);
}

}  // namespace
}  // namespace penstock::comm
