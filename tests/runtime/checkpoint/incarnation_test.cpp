#include "runtime/checkpoint/incarnation.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

TEST(Incarnation, CountsFromOne) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(last_incarnation(folder.path()), 0);
  EXPECT_EQ(begin_incarnation(folder.path()), 1);
  EXPECT_EQ(begin_incarnation(folder.path()), 2);
  EXPECT_EQ(last_incarnation(folder.path()), 2);
}

TEST(Incarnation, RefusesAnEarlierOne) {
  const test::TemporaryFolder folder;
  const std::int64_t first = begin_incarnation(folder.path());
  require_incarnation(folder.path(), first);
  EXPECT_EQ(begin_incarnation(folder.path()), 2);
  EXPECT_THROW(require_incarnation(folder.path(), first), CheckpointError);
  require_incarnation(folder.path(), 0);  // a run without a supervisor
}

TEST(Incarnation, RefusesADamagedFile) {
  const test::TemporaryFolder folder;
  for (const char* text : {"", "one\n", "-3\n", "0\n", "7", "7\n8\n", "99999999999999999999\n"}) {
    test::write_file(folder.path() / ".incarnation", text);
    EXPECT_THROW((void)last_incarnation(folder.path()), CheckpointError) << text;
  }
}

}  // namespace
}  // namespace penstock::runtime
