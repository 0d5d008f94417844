#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

test::Outcome plan(std::vector<std::string> words) {
  words.insert(words.begin(), {PENSTOCK_BINARY, "plan"});
  return test::run_program(words);
}

std::string sequence(const std::string& name) {
  return test::source("tests/partition/data/" + name + ".json");
}

TEST(PlanSequence, PrintsTheBestCutOntoEqualDevices) {
  const auto outcome =
      plan({"--profile", sequence("gnmt"), "--stages", "4", "--objective", "bottleneck", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_NEAR(json["bottleneck_ms"], 25.868, 1e-6);
  EXPECT_NEAR(json["lower_bound_ms"], 25.868, 1e-6);
  EXPECT_EQ(json["micro_batches"], 16);
  EXPECT_EQ(json["gap"], 0);
  EXPECT_EQ(json["exact"], true);
  EXPECT_EQ(json["recompute"], "none");
  // Devices have no limit: of the named schedules the fastest is chosen.
  ASSERT_EQ(json["schedules"].size(), 4u);
  EXPECT_EQ(json["schedule"], json["schedules"][0]["schedule"]);
  EXPECT_EQ(json["simulated_ms"], json["schedules"][0]["simulated_ms"]);
  for (const auto& step : json["schedules"]) {
    EXPECT_GE(step["simulated_ms"].get<double>(), json["simulated_ms"].get<double>() * (1 - 1e-9));
    EXPECT_EQ(step["fits"], true);
  }
  ASSERT_EQ(json["stages"].size(), 4u);
  int next = 0;
  double sum = 0;
  for (const auto& stage : json["stages"]) {
    EXPECT_EQ(stage["first_layer"], next);
    next = stage["last_layer"].get<int>() + 1;
    EXPECT_EQ(stage["devices"].size(), 1u);
    EXPECT_TRUE(stage["bytes"].is_number_integer());
    EXPECT_GT(stage["bytes"], 0);
    sum += stage["load_ms"].get<double>();
  }
  EXPECT_EQ(next, 45);
  EXPECT_NEAR(json["step_ms"], sum + 15 * 25.868, 1e-6);
}

TEST(PlanSequence, PlacesOnACluster) {
  const auto outcome =
      plan({"--profile", sequence("gnmt"), "--cluster", test::source("configs/clusters/mixed.toml"),
            "--micro-batches", "32", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["micro_batches"], 32);
  EXPECT_LE(json["lower_bound_ms"], json["step_ms"]);
  std::vector<int> devices;
  for (const auto& stage : json["stages"]) {
    EXPECT_EQ(stage["devices"].size(), json["replicas"]);
    for (const int device : stage["devices"]) {
      EXPECT_LT(device, 16);
      EXPECT_EQ(std::ranges::count(devices, device), 0);
      devices.push_back(device);
    }
  }
  const auto table =
      plan({"--profile", sequence("gnmt"), "--cluster", "mixed", "--micro-batches", "32"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_NE(table.out.find("gnmt: 45 layers in "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("5 % of each device's memory left free"), std::string::npos);
}

TEST(PlanSequence, RecomputesWholeStagesWhereNothingElseFits) {
  const test::TemporaryFolder folder;
  const std::string profile = folder.path() / "chain.json", cluster = folder.path() / "small.toml";
  std::string layers;
  for (int i = 0; i < 8; ++i)
    layers += std::string(i > 0 ? "," : "") +
              R"({"name": "l", "forward_ms": 1, "backward_ms": 2, "activation_bytes": 67108864,
                  "parameter_bytes": 1048576, "transfer_ms": 0})";
  test::write_file(profile, R"({"name": "sequence", "layers": [)" + layers + "]}");
  const auto with = [&](const std::string& gib) {
    test::write_file(cluster, "[kinds.small]\nmemory_gib = " + gib +
                                  "\nspeed = 1\n[[node]]\nname = \"n\"\ndevices = { small = 2 }\n"
                                  "within = { latency_us = 1, gb_per_s = 100 }\n");
    return plan({"--profile", profile, "--cluster", cluster, "--stages", "2", "--json"});
  };
  // The first stage keeps 4 layers' 64 MiB of each of two in flight, and 16 MiB of parameters.
  const auto kept = nlohmann::json::parse(with("0.6").out);
  EXPECT_EQ(kept["recompute"], "none");
  const auto again = nlohmann::json::parse(with("0.4").out);
  EXPECT_EQ(again["recompute"], "stage");
  EXPECT_GT(again["bottleneck_ms"], kept["bottleneck_ms"]);
  EXPECT_LE(again["lower_bound_ms"], again["step_ms"]);
  for (const auto& stage : again["stages"]) EXPECT_LE(stage["bytes"], 0.4 * (1 << 30));
  const auto refused = with("0.2");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("with whole stages recomputed or not"), std::string::npos)
      << refused.err;
}

TEST(PlanSequence, SaysThatTheTimeLimitEndedTheSearch) {
  const std::vector<std::string> words{"--profile", sequence("gnmt"), "--cluster", "mixed"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return plan(more);
  };
  const auto ended = with({"--time-limit", "0"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("--time-limit 0 ended it: this is the best plan so far"),
            std::string::npos)
      << ended.out;
  const auto json = nlohmann::json::parse(with({"--time-limit", "0", "--json"}).out);
  EXPECT_EQ(json["time_limit_reached"], true);
  EXPECT_LE(json["lower_bound_ms"], json["step_ms"]);
  const auto whole = nlohmann::json::parse(with({"--time-limit", "1000", "--json"}).out);
  EXPECT_EQ(whole["time_limit_reached"], false);
  EXPECT_LE(whole["step_ms"], json["step_ms"]);
  EXPECT_EQ(with({"--time-limit", "-1"}).code, 2);
}

TEST(PlanSequence, NamesWhatItRejects) {
  const test::TemporaryFolder folder;
  const std::string file = folder.path() / "tiny.toml";
  test::write_file(file,
                   "[kinds.tiny]\nmemory_gib = 0.25\nspeed = 1\n[[node]]\nname = \"n\"\n"
                   "devices = { tiny = 4 }\nwithin = { latency_us = 1, gb_per_s = 1 }\n");
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--profile", sequence("gnmt")}, "give --cluster FILE, or --stages K"},
           {{"--profile", sequence("gnmt"), "--stages", "46"}, "ask for at most 45"},
           {{"--profile", sequence("gnmt"), "--stages", "17", "--cluster", "mixed"},
            "the cluster has 16 devices and a stage needs one: ask for at most 16"},
           {{"--profile", sequence("gnmt"), "--cluster", "mixd"}, "mixd: no such cluster file"},
           {{"--profile", sequence("gnmt"), "--cluster", "mixd"},
            "by name are a100-40-8x4, a100-80-4, h100-128x8, h100-8,"},
           {{"--profile", sequence("gnmt"), "--cluster", file},
            "memory binds: no cut into any number"},
           {{"--profile", file, "--stages", "2"}, "tiny.toml: not JSON"},
           {{"--profile", sequence("gnmt"), "recipe.toml"}, "either a recipe or --profile"},
           {{}, "either a recipe or --profile"}}) {
    const auto outcome = plan(words);
    EXPECT_EQ(outcome.code, 2) << said;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace penstock::tools
