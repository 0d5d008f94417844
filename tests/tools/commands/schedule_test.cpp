#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

class ScheduleCommand : public testing::Test {
 protected:
  static test::Outcome schedule(std::vector<std::string> words) {
    words.insert(words.begin(), {PENSTOCK_BINARY, "schedule"});
    return test::run_program(words);
  }
  static nlohmann::json json(std::vector<std::string> words) {
    words.push_back("--json");
    const auto outcome = schedule(std::move(words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }
  static std::vector<std::string> of(const std::string& name) {
    return {name, "--stages", "4", "--micro-batches", "8"};
  }
  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  test::TemporaryFolder folder_;
};

TEST_F(ScheduleCommand, PrintsJson) {
  const auto one = json(of("1f1b")), h1 = json(of("zb-h1"));
  EXPECT_EQ(one["makespan"], 33);
  EXPECT_EQ(one["bubble"], nlohmann::json({9, 9, 9, 9}));
  EXPECT_EQ(one["peak_activations"], nlohmann::json({4, 3, 2, 1}));
  EXPECT_EQ(h1["makespan"], 27);
  EXPECT_EQ(h1["bubble"], nlohmann::json({3, 3, 3, 3}));
  // A rank's two chunks share its seconds.
  auto words = of("zb-v");
  words.insert(words.end(), {"--durations", "2,2,2"});
  const auto v = json(words);
  EXPECT_EQ(v["bubble"], nlohmann::json({0, 0, 0, 0}));
  EXPECT_EQ(v["peak_activations"], nlohmann::json({8, 8, 8, 8}));
}

TEST_F(ScheduleCommand, RendersTheTimeline) {
  const auto rendered = schedule(of("zb-h2"));
  ASSERT_EQ(rendered.code, 0) << rendered.err;
  for (const char* said : {"rank 3 |", "F7", "most activations", "makespan 27"})
    EXPECT_NE(rendered.out.find(said), std::string::npos) << said << " is not in " << rendered.out;
}

TEST_F(ScheduleCommand, ItsFilesAreSound) {
  for (const char* name : {"gpipe", "1f1b", "interleaved", "interleaved-3", "interleaved-5",
                           "zb-h1", "zb-h2", "zb-v", "v-half", "v-min", "dualpipe-v", "found"}) {
    auto words = of(name);
    words.insert(words.end(), {"--csv", in("lists.csv")});
    ASSERT_EQ(schedule(words).code, 0) << name;
    const auto checked = schedule({"--check", in("lists.csv")});
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_NE(checked.out.find("sound: 4 ranks"), std::string::npos) << checked.out;
  }
}

TEST_F(ScheduleCommand, PricesAFileAsItsSchedule) {
  for (const char* name : {"1f1b", "interleaved", "interleaved-3", "zb-h2", "dualpipe-v"}) {
    auto words = of(name);
    words.insert(words.end(), {"--csv", in("lists.csv"), "--durations", "1,1.5,0.7"});
    const auto named = json(words);
    const std::vector<std::string> check{"--check", in("lists.csv"), "--durations", "1,1.5,0.7"};
    const auto priced = json(check);
    for (const char* key : {"stages", "micro_batches", "makespan", "bubble", "peak_activations"})
      EXPECT_EQ(priced[key], named[key]) << name << " " << key;
    EXPECT_NE(schedule(check).out.find("lists.csv: 4 ranks, 8 micro-batches, makespan "),
              std::string::npos);
  }
  EXPECT_FALSE(json({"--check", in("lists.csv")}).contains("makespan"));
}

TEST_F(ScheduleCommand, SharesARanksTimesAmongItsOwnChunks) {
  test::write_file(in("uneven.csv"), "0F0,1F0,1BW0,0BW0\n2F0,2BW0\n");
  const auto priced = json({"--check", in("uneven.csv"), "--durations", "1,2,3"});
  EXPECT_EQ(priced["makespan"], 12);  // one after the other: each rank's whole
  EXPECT_EQ(priced["peak_activations"], nlohmann::json({2, 1}));
}

TEST_F(ScheduleCommand, RefusesDurationsThatAreNone) {
  auto words = of("zb-v");
  words.insert(words.end(), {"--csv", in("lists.csv")});
  ASSERT_EQ(schedule(words).code, 0);
  for (const auto& [durations, said] : std::vector<std::pair<const char*, const char*>>{
           {"1,x,1", "takes a number from 0 to 1000000000, not x"},
           {"1,-1,1", "takes a number from 0 to 1000000000, not -1"},
           {"0,0,0", "--durations: one of F,B,W must be above 0"},
           {"1,1", "--durations"},
           {"1,1,1,1", "--durations"}}) {
    const auto refused = schedule({"--check", in("lists.csv"), "--durations", durations});
    EXPECT_EQ(refused.code, 2) << durations;
    EXPECT_NE(refused.err.find(said), std::string::npos) << refused.err;
  }
}

TEST_F(ScheduleCommand, SaysWhereAFileBreaks) {
  test::write_file(in("short.csv"), "0F0,0F1,0B0,0B1\n1F0,1B0,1B1\n");
  const auto checked = schedule({"--check", in("short.csv")});
  EXPECT_EQ(checked.code, 2);
  EXPECT_NE(checked.err.find("rank 1 lacks forward of micro-batch 1 on chunk 1"), std::string::npos)
      << checked.err;
  EXPECT_EQ(schedule({"--check", in("gone.csv")}).code, 2);
}

TEST_F(ScheduleCommand, ChecksAsJson) {
  auto words = of("zb-v");
  words.insert(words.end(), {"--csv", in("lists.csv")});
  ASSERT_EQ(schedule(words).code, 0);
  EXPECT_EQ(json({"--check", in("lists.csv")}),
            nlohmann::json({{"sound", true}, {"stages", 4}, {"chunks", 8}, {"micro_batches", 8}}));
  test::write_file(in("forwards.csv"), "0F0,0F1\n1F0,1F1\n");
  const auto broken = schedule({"--check", in("forwards.csv"), "--json"});
  EXPECT_EQ(broken.code, 2);
  EXPECT_EQ(broken.out, "");
  EXPECT_NE(broken.err.find("rank 0 lacks backward of micro-batch 0 on chunk 0"), std::string::npos)
      << broken.err;
}

TEST_F(ScheduleCommand, NamesTheCellThatBreaks) {
  test::write_file(in("late.csv"), "0F0,0B0,0F1,0B1\n1F0,1B0,1B1,1F1\n");
  const auto checked = schedule({"--check", in("late.csv")});
  EXPECT_EQ(checked.code, 2);
  EXPECT_NE(checked.err.find("late.csv is not sound: row 2, column 3 (rank 1, backward of "),
            std::string::npos)
      << checked.err;
}

TEST_F(ScheduleCommand, ListsAllNames) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"zb-h3"}, of("zb-h3"), of("Found")}) {
    const auto refused = schedule(words);
    EXPECT_EQ(refused.code, 2);
    const std::string names =
        "gpipe, 1f1b, interleaved, interleaved-3, interleaved-4, zb-h1, zb-h2, zb-v, v-half, "
        "v-min, "
        "dualpipe-v, found";
    EXPECT_NE(refused.err.find("there is no schedule " + words[0] + ": known are " + names),
              std::string::npos)
        << refused.err;
    EXPECT_EQ(refused.err.find("pipeline"), std::string::npos) << refused.err;
  }
}

TEST_F(ScheduleCommand, RejectsOptionsWithoutEffect) {
  auto words = of("gpipe");
  words.insert(words.end(), {"--csv", in("lists.csv")});
  ASSERT_EQ(schedule(words).code, 0);
  const auto expect_refused = [&](std::vector<std::string> all, const std::string& option,
                                  const char* value) {
    all.insert(all.end(), {option, value});
    const auto refused = schedule(all);
    EXPECT_EQ(refused.code, 2) << option;
    EXPECT_EQ(refused.out, "") << option;
    EXPECT_NE(refused.err.find("schedule: " + option + " is for "), std::string::npos)
        << refused.err;
    EXPECT_NE(refused.err.find(": leave it out"), std::string::npos) << refused.err;
  };
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, const char*>>{{"--stages", "4"},
                                                        {"--micro-batches", "8"},
                                                        {"--memory", "4"},
                                                        {"--seed", "1"},
                                                        {"--width", "120"},
                                                        {"--csv", "/gone/a.csv"}})
    expect_refused({"--check", in("lists.csv")}, option, value);
  expect_refused(of("zb-h2"), "--seed", "1");
  expect_refused(of("zb-h2"), "--memory", "4");
}

TEST_F(ScheduleCommand, FindsWithinTheMemory) {
  const auto found = json(of("found"));
  EXPECT_LE(found["makespan"], json(of("zb-v"))["makespan"]);
  EXPECT_GE(found["makespan"], found["lower_bound"]);
  EXPECT_GE(found["gap"], 0);
  auto words = of("found");
  words.insert(words.end(), {"--durations", "1,1.2,0.8"});
  EXPECT_NE(schedule(words).out.find("shorter than 25.8: gap 0.0 %"), std::string::npos);
  const auto tight = json({"found", "--stages", "8", "--micro-batches", "32", "--memory", "5"});
  EXPECT_LE(tight["makespan"],
            json({"v-half", "--stages", "8", "--micro-batches", "32"})["makespan"]);
}

TEST_F(ScheduleCommand, RejectsWhatItCannotMake) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{},
        {"zb-h1"},
        {"zb-h1", "--stages", "4"},
        {"zb-h1", "--stages", "0", "--micro-batches", "4"},
        {"1b1f", "--stages", "4", "--micro-batches", "4"},
        {"zb-h1", "--stages", "4", "--micro-batches", "4", "--durations", "1,2"},
        {"zb-h1", "--stages", "4", "--micro-batches", "4", "--durations", "1,2,-1"},
        {"zb-h1", "--stages", "4", "--micro-batches", "4", "--durations", "0,0,0"},
        {"zb-h1", "--stages", "4", "--micro-batches", "4", "--csv", "/gone/a.csv"},
        {"zb-h1", "--check", "a.csv"},
        {"gpipe", "--stages", "1024", "--micro-batches", "65536"}}) {
    const auto refused = schedule(words);
    EXPECT_EQ(refused.code, 2) << testing::PrintToString(words) << refused.out;
    EXPECT_NE(refused.err, "") << testing::PrintToString(words);
  }
}

}  // namespace
}  // namespace penstock::tools
