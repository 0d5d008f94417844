#include "runtime/job/shared_output.h"

#include <gtest/gtest.h>

#include "comm/threads.h"
#include "runtime/checkpoint/output_lock.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;

/// Returns the error of three ranks that see these folders; the last rank does not write.
std::string said_of(const std::vector<fs::path>& folders) {
  const OutputLock lock(folders[0]);
  return test::message_of<CheckpointError>([&] {
    comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
      const int rank = world.rank();
      check_shared_output(world, {folders[rank], rank == 0 ? lock.token() : "", rank < 2});
    });
  });
}

TEST(SharedOutput, IsOneFolderForEveryRankThatWrites) {
  const test::TemporaryFolder a, b;
  EXPECT_EQ(said_of({a.path(), a.path(), b.path()}), "");
  EXPECT_TRUE(fs::is_empty(a.path()));
  const std::string message = said_of({a.path(), b.path(), a.path()});
  EXPECT_NE(message.find("\n  rank 1: sees another folder"), std::string::npos) << message;
  EXPECT_EQ(message.find("rank 2"), std::string::npos) << message;
}

TEST(SharedOutput, IsNotAFolderOfADeadRun) {
  const test::TemporaryFolder a, b;
  test::write_file(OutputLock::file_of(b.path()), "process 1 on host far\n5\n");
  EXPECT_NE(said_of({a.path(), b.path(), a.path()}), "");
}

TEST(SharedOutput, NamesAFileThatCannotBeRead) {
  const test::TemporaryFolder a, b;
  fs::create_symlink("/proc/self/mem", OutputLock::file_of(b.path()));
  const std::string message = said_of({a.path(), b.path(), a.path()});
  EXPECT_NE(message.find(".lock: can't be read: Input/output error"), std::string::npos) << message;
}

}  // namespace
}  // namespace penstock::runtime
