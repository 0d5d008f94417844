#include "runtime/supervisor/run_status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.h"
#include "base/file_handle.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

RunStatus example() {
  RunStatus status{.state = "running", .incarnation = 3, .step = 17, .steps = 400};
  status.stages = status.replicas = 2;
  status.hosts = {"lion", "tiger"};
  status.up_s = 12.5;
  status.ranks.push_back({.rank = 1, .stage = 1, .replica = 0, .host = "lion", .busy_s = 0.25});
  return status;
}

TEST(RunStatus, ReadsWhatItWrote) {
  const test::TemporaryFolder folder;
  write_status(folder.path(), example());
  const RunStatus read = parse_status(read_file(folder.path() / kStatusFile), "status.json");
  EXPECT_EQ(status_json(read).substr(0, 150), status_json(example()).substr(0, 150));
  ASSERT_EQ(read.ranks.size(), 1);
  EXPECT_EQ(read.ranks[0].action, "stage 1, start");
  EXPECT_EQ(read.hosts, example().hosts);
}

TEST(RunStatus, RefusesADamagedFile) {
  EXPECT_THROW((void)parse_status("{\"state\": 3}", "status.json"), CheckpointError);
  EXPECT_THROW((void)parse_status("", "status.json"), CheckpointError);
}

TEST(RunStatus, PrometheusTextHasHelpTypeAndValue) {
  const std::string text = prometheus_text(example());
  const std::regex line(
      R"(# (HELP [a-z_]+ .+|TYPE [a-z_]+ (gauge|counter))|[a-z_]+(\{[^}]*\})? [0-9.e+]+)");
  std::istringstream lines(text);
  for (std::string l; std::getline(lines, l);) EXPECT_TRUE(std::regex_match(l, line)) << l;
  EXPECT_NE(text.find("\npenstock_step 17\n"), std::string::npos);
  EXPECT_NE(text.find("\npenstock_up 1\n"), std::string::npos);
  EXPECT_NE(text.find("{rank=\"1\",stage=\"1\"} 0.25\n"), std::string::npos);
}

TEST(RunStatus, IncidentsAreLinesOfJson) {
  const test::TemporaryFolder folder;
  append_incident(folder.path(), {.kind = "hang",
                                  .incarnation = 2,
                                  .step = 9,
                                  .rank = 1,
                                  .host = "lion",
                                  .code = 86,
                                  .message = "two\nlines \xff"});
  append_incident(folder.path(), {.kind = "start", .message = "again"});
  std::istringstream lines(read_file(folder.path() / kIncidentsFile));
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(all[0]["kind"], "hang");
  EXPECT_EQ(all[0]["code"], 86);
  EXPECT_FALSE(all[1].contains("rank"));
  EXPECT_TRUE(std::regex_match(all[0]["time"].get<std::string>(),
                               std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
}

}  // namespace
}  // namespace penstock::runtime
