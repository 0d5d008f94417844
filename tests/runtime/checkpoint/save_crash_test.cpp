#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/retention.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/killed_child.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using test::ChildEnd;

// Saves step 20 beside step 10 and removes the older one, killed at every system call in turn.
TEST(SaveCrash, LeavesTheOldOrTheNewCheckpoint) {
  const fs::path memory = "/dev/shm";  // where flushing takes no time
  const test::TemporaryFolder parent(fs::exists(memory) ? memory : fs::temp_directory_path());
  std::int64_t before = 10;
  for (int stop = 0;; stop += 2) {  // a call's end and the next one's start find the same files
    const fs::path output = parent.path() / fmt::to_string(stop);
    test::save_example(output, 10, 1);
    const ChildEnd end = test::run_until_call(stop, [&] {
      test::save_example(output, 20, 2);
      keep_newest(output, 1);
    });
    if (end == ChildEnd::not_traceable) GTEST_SKIP() << "this machine forbids ptrace";
    const auto found = newest(output, [&](const std::string& report) { ADD_FAILURE() << report; });
    ASSERT_TRUE(found) << stop;
    EXPECT_GE(found->state().step, before) << stop;
    before = found->state().step;
    test::save_example(output, 30, 1);  // clears what the dead save left
    for (const auto& entry : fs::directory_iterator(output))
      EXPECT_TRUE(entry.path().extension().empty()) << stop << ": " << entry.path();
    fs::remove_all(output);
    if (end == ChildEnd::finished) break;
  }
  EXPECT_EQ(before, 20);
}

}  // namespace
}  // namespace penstock::runtime
