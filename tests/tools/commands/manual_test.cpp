#include <gtest/gtest.h>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

TEST(ManualCommand, WritesAPageForEachCommand) {
  const test::TemporaryFolder folder;
  const auto pages = folder.path() / "man/man1";
  const auto written = test::run_program({PENSTOCK_BINARY, "manual", pages.string()});
  EXPECT_EQ(written.code, 0) << written.err;
  for (const char* name : {"penstock", "penstock-train", "penstock-data", "penstock-data-make"})
    EXPECT_TRUE(test::read_file(pages / (std::string(name) + ".1")).starts_with(".TH ")) << name;
}

TEST(ManualCommand, EndsWith2IfTheFolderIsAFile) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "file";
  test::write_file(file, "x");
  EXPECT_EQ(test::run_program({PENSTOCK_BINARY, "manual", file.string()}).code, 2);
}

}  // namespace
}  // namespace penstock::tools
