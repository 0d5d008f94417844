#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/runtime/sounds.h"
#include "tests/support/runtime/training_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::tools {
namespace {

class PlanCluster : public testing::Test {
 protected:
  PlanCluster() {
    // The second and the fourth device are fast, so that good placements are no neighbours.
    std::ofstream(cluster_)
        << "margin = 0.1\n[kinds.slow]\nmemory_gib = 1\nspeed = 1\n[kinds.fast]\nmemory_gib = 1\n"
           "speed = 4\n[[node]]\nname = \"a\"\ndevices = { fast = 1, slow = 1 }\n"
           "within = { latency_us = 1, gb_per_s = 1 }\n[[node]]\nname = \"b\"\n"
           "devices = { slow = 1, fast = 1 }\nwithin = { latency_us = 1, gb_per_s = 1 }\n"
           "[between]\nlatency_us = 1\ngb_per_s = 1\n";
  }

  test::Outcome plan(std::vector<std::string> more) const {
    more.insert(more.begin(), {"plan", folder_.in("recipe.toml"), "--cluster", cluster_});
    return folder_.run(std::move(more));
  }
  nlohmann::json json(std::vector<std::string> more) const {
    more.push_back("--json");
    const auto outcome = plan(std::move(more));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);
  }

  test::TrainingFolder folder_{PENSTOCK_BINARY, PENSTOCK_MPIRUN};
  std::string cluster_ = folder_.in("cluster.toml");
};

TEST_F(PlanCluster, ItsFileIsTrainedWithTheSameBits) {
  const std::string file = folder_.in("plan.toml");
  const auto chosen = json({"--stages", "2", "--replicas", "2", "-o", file});
  EXPECT_EQ(chosen["replicas"], 2);
  EXPECT_GE(chosen["stages"].size(), 2u);
  const auto trained = folder_.train("planned", {"pipeline.plan=" + file, "trainer.steps=3"}, {4});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string order = "trainer.order=" + chosen["order"].dump();
  ASSERT_EQ(folder_.train("alone", {"trainer.steps=3", order}).code, 0);
  EXPECT_EQ(folder_.record("planned"), folder_.record("alone"));
}

/// `plan ds2-wide` on eight H100 for so many utterances of 30 s.
class PlanOfAModel : public PlanCluster {
 protected:
  PlanOfAModel() { test::write_sound(folder_.in("long.wav"), test::make_sound(16000 * 30)); }

  std::string plan(int utterances, const std::vector<std::string>& more) const {
    std::ofstream manifest(folder_.in("long.jsonl"));
    for (int line = 0; line < utterances; ++line)
      manifest << R"({"audio_filepath": "long.wav", "duration": 30, "text": "two"})" << std::endl;
    std::vector<std::string> words{"plan",   "ds2-wide", "--cluster",
                                   "h100-8", "--data",   folder_.in("long.jsonl")};
    words.insert(words.end(), more.begin(), more.end());
    const test::Outcome outcome = folder_.run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
};

// A model's name gives no step. The default of a recipe, 128 s, would leave most of eight GPUs
// idle.
TEST_F(PlanOfAModel, GrowsTheStepWithTheCluster) {
  const std::string key = "data.batch_seconds=1024";
  const auto assumed = nlohmann::json::parse(plan(80, {"--json"}));
  const auto given = nlohmann::json::parse(plan(80, {key, "--json"}));
  EXPECT_EQ(assumed["assumed_batch_seconds"], 1024);
  EXPECT_FALSE(given.contains("assumed_batch_seconds"));
  EXPECT_EQ(assumed["stages"].size() * assumed["replicas"].get<std::size_t>(), 8u);
  for (const char* chosen : {"stages", "replicas", "schedule", "step_ms", "micro_batches"})
    EXPECT_EQ(assumed[chosen], given[chosen]) << chosen;
  EXPECT_EQ(plan(80, {key}).find("assumed step"), std::string::npos);
}

TEST_F(PlanOfAModel, SaysWhichStepItAssumes) {
  const auto said = [&](int utterances, const std::string& text) {
    const std::string out = std::regex_replace(plan(utterances, {}), std::regex("\\s+"), " ");
    EXPECT_NE(out.find(text), std::string::npos) << text << " is not in " << out;
  };
  said(80,
       "1024 s of audio, as no size was given: 128 s for each device. For this one write "
       "data.batch_seconds=1024");
  said(20,
       "256 s of audio, as no size was given: half of the data's 10 min. For this one write "
       "data.batch_seconds=256");
  said(3, "128 s of audio, as no size was given: one device's, as the data have only 90 s. For");
}

TEST_F(PlanCluster, SaysHowManyRanksStartOnEachNode) {
  const auto said = [&](const char* stages) {
    return plan({"--stages", stages, "--replicas", "1", "-o", folder_.in("plan.toml")}).out;
  };
  const std::string all = said("4"), one = said("1");
  EXPECT_NE(all.find("mpirun -np 4 --host a:2,b:2 penstock train "), std::string::npos) << all;
  EXPECT_NE(one.find("mpirun -np 1 penstock train "), std::string::npos) << one;
}

TEST_F(PlanCluster, QuotesWhatTheShellWouldRead) {
  const std::string out =
      plan({"text.remove= ?", "--stages", "1", "-o", folder_.in("plan.toml")}).out;
  EXPECT_NE(out.find("toml 'text.remove= ?' pipeline.plan="), std::string::npos) << out;
}

TEST_F(PlanCluster, AFoundScheduleIsTrainedInItsOrder) {
  const std::string file = folder_.in("plan.toml");
  const auto chosen = json({"--stages", "3", "--replicas", "1", "--schedule", "found",
                            "data.micro_batches=5", "-o", file});
  EXPECT_EQ(chosen["schedule"], "found");
  ASSERT_FALSE(chosen["order"].empty());
  const auto trained = folder_.train(
      "planned", {"pipeline.plan=" + file, "trainer.steps=3", "data.micro_batches=5"}, {3});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string order = "trainer.order=" + chosen["order"].dump();
  ASSERT_EQ(folder_.train("alone", {"trainer.steps=3", "data.micro_batches=5", order}).code, 0);
  EXPECT_EQ(folder_.record("planned"), folder_.record("alone"));
}

TEST_F(PlanCluster, TrainsWithRecomputationWhereOnlyThatFits) {
  const std::vector<std::string> grid{"--stages", "1", "--replicas", "2", "--schedule", "gpipe"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), grid.begin(), grid.end());
    return more;
  };
  const auto largest = [](const nlohmann::json& plan) {
    double bytes = 0;
    for (const auto& stage : plan["stages"]) bytes = std::max(bytes, stage["bytes"].get<double>());
    return bytes / (1 << 30);
  };
  const auto stage = json(with({"pipeline.recompute=stage"}));
  EXPECT_EQ(stage["recompute"], "stage");
  const std::string file = folder_.in("plan.toml");
  const double gib = (largest(json(with({}))) + largest(stage)) / 2;
  const auto tight = json(with({fmt::format("pipeline.memory_gib={:f}", gib), "-o", file}));
  EXPECT_EQ(tight["recompute"], "layers");
  const std::string schedule = tight["schedule"];
  EXPECT_EQ(tight["recompute_exact"],
            schedule != "found" && schedule != "zb-v" && schedule != "interleaved");
  std::size_t again = 0;
  for (const auto& chunk : tight["stages"]) again += chunk["recompute"].size();
  EXPECT_GT(again, 0u);
  EXPECT_LE(largest(tight), gib);

  ASSERT_EQ(folder_.train("planned", {"pipeline.plan=" + file, "trainer.steps=3"}, {2}).code, 0);
  ASSERT_EQ(folder_.train("alone", {"trainer.steps=3"}).code, 0);
  EXPECT_EQ(folder_.record("planned"), folder_.record("alone"));
  const auto text = plan(with({fmt::format("pipeline.memory_gib={:f}", gib)}));
  EXPECT_NE(text.out.find("recomputed"), std::string::npos) << text.out;
}

TEST_F(PlanCluster, SaysEverythingInJson) {
  const auto chosen = json({});
  for (const char* key : {"micro_batches", "bottleneck_ms", "step_ms", "lower_bound_ms", "gap",
                          "stages", "schedule", "recompute", "replicas", "speed", "binds"})
    EXPECT_TRUE(chosen.contains(key)) << key;
  EXPECT_LE(chosen["lower_bound_ms"], chosen["step_ms"]);
  EXPECT_LE(chosen["bottleneck_ms"], chosen["step_ms"]);
  EXPECT_EQ(chosen["recompute"], "none");
  int next = 0;
  for (const auto& stage : chosen["stages"]) {
    EXPECT_EQ(stage["first_layer"], next);
    next = stage["last_layer"].get<int>() + 1;
    EXPECT_GT(stage["bytes"], 0);
  }
  EXPECT_EQ(chosen["alternatives"][0]["why"], "");
  EXPECT_EQ(json({}), chosen);  // the same for the same seed
}

TEST_F(PlanCluster, FieldsOfItsJsonStandInThePage) {
  std::ifstream file(test::source("docs/planning.md"));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const auto chosen = json({});
  std::vector<nlohmann::json> objects{chosen, chosen["stages"][0]};
  for (const auto& other : chosen["alternatives"]) objects.push_back(other);
  for (const nlohmann::json& object : objects)
    for (const auto& [key, value] : object.items())
      EXPECT_NE(page.find("`" + key + "`"), std::string::npos) << key;
}

TEST_F(PlanCluster, EstimatesStepsWithAndWithoutPostValidation) {
  const auto waiting = json({"--stages", "2", "--schedule", "zb-h2"});
  EXPECT_EQ(waiting["post_validation"], false);
  EXPECT_EQ(waiting["agreed_step_ms"], waiting["step_ms"]);
  EXPECT_LE(waiting["post_validated_step_ms"], waiting["step_ms"]);
  const auto late = json({"--stages", "2", "--schedule", "zb-h2", "pipeline.post_validation=true"});
  EXPECT_EQ(late["post_validation"], true);
  EXPECT_EQ(late["post_validated_step_ms"], late["step_ms"]);
  EXPECT_GE(late["agreed_step_ms"], late["step_ms"]);
  EXPECT_GT(late["stages"][0]["bytes"], waiting["stages"][0]["bytes"]);  // of the rollback buffer
  EXPECT_FALSE(json({"--stages", "1", "--replicas", "1"}).contains("agreed_step_ms"));
}

TEST_F(PlanCluster, PrintsTablesAndWritesTheReport) {
  const std::string page = folder_.in("plan.html");
  const auto outcome = plan({"--stages", "2", "--replicas", "1", "data.micro_batch_seconds=2.5",
                             "--report", page, "--schedule", "gpipe"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said :
       {"2 stages × 1 replica, gpipe, 4 × 2.5 s", "conv1 to ", "optimizer", "total", "rank 1 |",
        "the plan", "lower bound", "10 % of each device's memory left free", "a:0 "})
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << " is not in " << outcome.out;
  std::ifstream in(page);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  EXPECT_EQ(text.rfind("<!doctype html>", 0), 0u);
  EXPECT_NE(text.find("\"schedule\":\"gpipe\""), std::string::npos);
}

TEST_F(PlanCluster, SaysWhatAnEpochAndOneChangeBring) {
  const auto outcome = plan({"--stages", "2", "--replicas", "1", "--schedule", "1f1b"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  for (const char* said :
       {"\nIt trains ", "\nan epoch ", " of audio\n", "\n\nWith ", "With links twice as fast: "})
    EXPECT_NE(outcome.out.find(said), std::string::npos) << said << " is not in " << outcome.out;
  EXPECT_EQ(outcome.out.find("it costs"), std::string::npos);  // no price is known
  const auto free = json({"--stages", "2", "--replicas", "1", "--schedule", "1f1b"});
  EXPECT_FALSE(free.contains("epoch_price"));
  EXPECT_GE(free["advice"].size(), 1u);

  std::string priced = test::read_file(cluster_);
  for (std::size_t at = 0; (at = priced.find("speed =", at)) != std::string::npos; at += 30)
    priced.insert(at, "price_per_hour = 1.5\n");
  test::write_file(folder_.in("priced.toml"), priced);
  const auto paid = nlohmann::json::parse(
      folder_
          .run({"plan", folder_.in("recipe.toml"), "--cluster", folder_.in("priced.toml"), "--json",
                "--stages", "2", "--replicas", "1", "--schedule", "1f1b"})
          .out);
  const double hours = paid["epoch_s"].get<double>() / 3600;
  EXPECT_NEAR(paid["epoch_price"].get<double>(), 2 * 1.5 * hours, 1e-9);
}

TEST_F(PlanCluster, AdviceHoldsWhereItsKeysAreGiven) {
  const auto with = [&](const std::string& keys) {
    return json({"--stages", "1", "--replicas", "2", "--schedule", "gpipe", keys});
  };
  const auto gib = [](const nlohmann::json& plan) {
    return plan["stages"][0]["bytes"].get<double>() / (1 << 30);
  };
  const double kept = gib(with("pipeline.recompute=none"));
  const double between = (kept + gib(with("pipeline.recompute=stage"))) / 2;
  const auto tight = with(fmt::format("pipeline.memory_gib={:f}", between));
  EXPECT_TRUE(tight["binds"].get<std::string>().starts_with("memory: ")) << tight["binds"];
  int found = 0;
  for (const auto& advice : tight["advice"]) {
    const std::string change = advice["change"];
    const std::size_t key = change.find("pipeline.memory_gib=");
    if (key == std::string::npos) continue;
    ++found;
    const auto roomy = with(change.substr(key, change.find(')') - key));
    EXPECT_EQ(roomy["speed"], advice["speed"]) << change;
    EXPECT_GT(roomy["speed"], tight["speed"]);
  }
  EXPECT_EQ(found, 1) << tight["advice"];
}

TEST_F(PlanCluster, TakesAModelByName) {
  const auto outcome =
      folder_.run({"plan", "ds2-tiny", "--cluster", cluster_, "--data", folder_.in("train.jsonl"),
                   "text.alphabet=abcd", "features.kind=spectrogram", "features.sample_rate=8000",
                   "model.features=81", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(nlohmann::json::parse(outcome.out)["model"].get<std::string>().find("labels=5"),
            std::string::npos);
  // Also after a recipe, whose own keys come first.
  const auto both = folder_.run({"plan", folder_.in("recipe.toml"), "ds2-tiny",
                                 "features.kind=spectrogram", "--cluster", cluster_});
  EXPECT_EQ(both.code, 0) << both.err;
}

TEST_F(PlanCluster, NamesWhatItRejects) {
  for (const auto& [words, said] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--stages", "99"}, "99 stages, but the model has "},
           {{"--stages", "5"}, "5 stages, but the cluster has 4 devices"},
           {{"--stages", "2", "--replicas", "3"}, "need 6 devices, but the cluster has 4"},
           {{"pipeline.memory_gib=0.00001"}, "memory binds: "},
           {{"--schedule", "2f2b"}, "pipeline.schedule"},
           {{"--micro-batches", "8", "data.micro_batches=4"},
            "--micro-batches is for a recipe that sets neither"},
           {{"-o", folder_.in("gone/plan.toml")}, "gone/plan.toml"},
           {{"--report", folder_.in("gone/plan.html")}, "gone/plan.html"}}) {
    const auto outcome = plan(words);
    EXPECT_EQ(outcome.code, 2) << said;
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace penstock::tools
