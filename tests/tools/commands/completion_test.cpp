#include "tools/cli/completion.h"

#include <gtest/gtest.h>

#include "tests/support/system/process.h"

namespace penstock::tools {
namespace {

TEST(CompletionCommand, PrintsTheScriptOfAShell) {
  const auto printed = test::run_program({PENSTOCK_BINARY, "completion", "fish"});
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, completion_script("fish"));
  EXPECT_EQ(test::run_program({PENSTOCK_BINARY, "completion", "csh"}).code, 2);
}

TEST(CompletionCommand, AnswersScripts) {
  const auto answer = test::run_program({PENSTOCK_BINARY, "__complete", "bench", "conformer-"});
  EXPECT_EQ(answer.out, "conformer-l\t\nconformer-m\t\nconformer-s\t\n:files\n");
  EXPECT_EQ(answer.code, 0);
}

}  // namespace
}  // namespace penstock::tools
