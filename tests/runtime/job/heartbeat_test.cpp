#include "runtime/job/heartbeat.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

RankActivity example() {
  return {.rank = 3,
          .stage = 1,
          .replica = 1,
          .host = "lion",
          .process = 4711,
          .phase = Phase::validation,
          .step = 17,
          .steps = 400,
          .action = "forward of micro-batch 3 on chunk 1",
          .events = 1234,
          .seconds = 0.5,
          .planned_s = 0.25,
          .waits_for = 2,
          .busy_s = 1.5,
          .planned_busy_s = 1.25,
          .step_s = 2,
          .save_s = 3};
}

std::string without_newline(std::string line) {
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  return line;
}

TEST(Heartbeat, ArrivesAsItWasSent) {
  const ParsedLine parsed = parse_heartbeat(without_newline(heartbeat_line(example())));
  EXPECT_FALSE(parsed.end);
  ASSERT_TRUE(parsed.activity);
  EXPECT_EQ(*parsed.activity, example());
}

TEST(Heartbeat, EndArrivesAsItWasSent) {
  const RankEnd end{2, 3, true, "two\nlines, \x1b and \xff"};
  const ParsedLine parsed = parse_heartbeat(without_newline(heartbeat_line(end)));
  EXPECT_FALSE(parsed.activity);
  ASSERT_TRUE(parsed.end);
  EXPECT_EQ(parsed.end->message, "two\nlines, \x1b and \xef\xbf\xbd");
  EXPECT_EQ(parsed.end->code, 3);
  EXPECT_TRUE(parsed.end->diverged);
}

TEST(Heartbeat, LongMessageFitsIntoAnAtomicWrite) {
  const std::string line = heartbeat_line(RankEnd{0, 1, false, std::string(100000, '\x01')});
  EXPECT_LE(line.size(), 4096);
  EXPECT_TRUE(parse_heartbeat(without_newline(line)).end);
}

TEST(Heartbeat, OtherLinesAreNone) {
  const std::string line = without_newline(heartbeat_line(example()));
  for (const std::string& text :
       {std::string(), std::string("{\"rank\": 1}"), line.substr(1), line.substr(0, 40),
        std::string("\x1e"), std::string("\x1e{}"), std::string("\x1e[1]"),
        std::string("\x1e{\"rank\":\"one\",\"end\":0}")}) {
    const ParsedLine parsed = parse_heartbeat(text);
    EXPECT_FALSE(parsed.activity || parsed.end) << text;
  }
  EXPECT_FALSE(looks_like_heartbeat("step 3"));
}

}  // namespace
}  // namespace penstock::runtime
