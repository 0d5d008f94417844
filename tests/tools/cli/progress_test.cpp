#include "tools/cli/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace penstock::tools {
namespace {

using std::chrono::seconds;

TEST(Progress, PlainLinesEveryTenSecondsAndFinally) {
  std::ostringstream out;
  Progress progress(out, false, 0, 100);
  const auto start = Progress::Clock::now();
  progress.show(1, "loss 4", start + seconds(1));
  progress.show(2, "loss 3", start + seconds(2));
  progress.show(50, "loss 2", start + seconds(30));
  progress.show(100, "loss 1", start + seconds(31));
  const std::string text = out.str();
  EXPECT_EQ(text.find("step 1/100"), 0u) << text;
  EXPECT_EQ(text.find("loss 3"), std::string::npos) << text;
  EXPECT_NE(text.find("step 50/100, 0:30 left  loss 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("step 100/100, 0:00 left  loss 1\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(Progress, SaysLinesOfTheirOwn) {
  std::ostringstream plain, terminal;
  Progress(plain, false, 0, 9).say("validated");
  EXPECT_EQ(plain.str(), "validated\n");
  Progress bar(terminal, true, 0, 9);
  bar.show(1, "loss 4");
  bar.say("validated");
  EXPECT_TRUE(terminal.str().ends_with("  loss 4\nvalidated\n")) << terminal.str();
}

TEST(Progress, BarOnATerminalEndsAsALine) {
  std::ostringstream out;
  {
    Progress progress(out, true, 50, 100);
    progress.show(75, "loss 2", Progress::Clock::now() + seconds(10));
  }
  EXPECT_NE(out.str().find("\r\x1b[K[##################......] 75/100, 0:10 left  loss 2\n"),
            std::string::npos)
      << out.str();
}

}  // namespace
}  // namespace penstock::tools
