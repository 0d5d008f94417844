#include "partition/planner/plan/plan_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "base/error.h"
#include "configs/config.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

const PlannedModel kModel{"kind=deepspeech2 hidden=8", {"conv1", "norm1", "relu1", "rnn1", "ctc"}};

Plan sample() {
  Plan plan{.model = kModel.summary, .schedule = "1f1b", .micro_batches = 5, .lanes = 3};
  plan.ranks = {{0, 2}, {3, 1}};
  plan.chunks = {{.stage = 0, .first = 0, .layers = {"conv1", "norm1"}},
                 {.stage = 1, .first = 2, .layers = {"relu1", "rnn1", "ctc"}}};
  plan.chunks[0].recomputed = {"norm1"};
  plan.chunks[1].recomputed.emplace();
  plan.chunks[0].predicted = {0.1 + 0.2, 1234567890123, {1, 2, 3, 4, 5, 6, 7, 8}};
  plan.chunks[1].predicted = {1, 9, {10, 20, 30, 40, 50, 60, 7000000000, 80}};
  return plan;
}

/// With lists of its own: the busier replica has four of the five micro-batches.
Plan found_sample() {
  Plan plan = sample();
  plan.schedule = "found";
  plan.order = {4, 0, 2, 1, 3};
  plan.actions = {"0F0,0F1,0B0,0W0,0F2,0B1,0F3,0B2,0W1,0W2,0B3,0W3",
                  "1F0,1B0,1F1,1B1,1W0,1W1,1F2,1B2,1W2,1F3,1B3,1W3"};
  return plan;
}

/// The file with one text replaced by another.
std::string edited(const std::string& from, const std::string& to, const Plan& plan = sample()) {
  std::string text = plan_toml(plan);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_message(const std::string& text) {
  return test::message_of<ConfigError>([&] { parse_plan(text, "plan.toml", kModel); });
}

TEST(PlanFile, SurvivesTheRoundTrip) {
  EXPECT_EQ(parse_plan(plan_toml(sample()), "plan.toml", kModel), sample());
  const test::TemporaryFolder folder;
  write_plan(folder.path() / "plan.toml", sample());
  EXPECT_EQ(read_plan(folder.path() / "plan.toml", kModel), sample());
}

TEST(PlanFile, SaysWhetherUnitsRemake) {
  for (const auto within : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    Plan plan = sample();
    plan.recomputes_within = within;
    EXPECT_EQ(parse_plan(plan_toml(plan), "plan.toml", kModel), plan);
  }
  Plan plan = sample();
  plan.recomputes_within = true;
  EXPECT_NE(error_message(edited("recompute_within = true", "recompute_within = \"yes\"", plan))
                .find("plan.toml:7: recompute_within must be true or false"),
            std::string::npos);
}

TEST(PlanFile, SaysWhatStaysOnTheDevice) {
  Plan plan = sample();
  EXPECT_EQ(plan_toml(plan).find("resident"), std::string::npos);
  plan.resident = 3;
  plan.chunks[1].predicted.bytes.host = 7000000001;
  EXPECT_EQ(parse_plan(plan_toml(plan), "plan.toml", kModel), plan);
  EXPECT_NE(error_message(edited("resident = 3", "resident = 0", plan))
                .find("resident = 0: expected at least 1"),
            std::string::npos);
}

TEST(PlanFile, SaysWhetherReplicasShareTheUpdate) {
  for (const auto shares : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    Plan plan = sample();
    plan.shards_optimizer = shares;
    EXPECT_EQ(parse_plan(plan_toml(plan), "plan.toml", kModel), plan);
  }
  Plan plan = sample();
  plan.shards_optimizer = true;
  EXPECT_NE(error_message(edited("shard_optimizer = true", "shard_optimizer = 1", plan))
                .find("plan.toml:7: shard_optimizer must be true or false"),
            std::string::npos);
}

TEST(PlanFile, KeepsTheSizeOfBuckets) {
  Plan plan = sample();
  EXPECT_EQ(plan_toml(plan).find("bucket_bytes"), std::string::npos);
  plan.bucket_bytes = 7 << 20;
  EXPECT_EQ(parse_plan(plan_toml(plan), "plan.toml", kModel), plan);
  EXPECT_NE(error_message(edited("bucket_bytes = 7340032", "bucket_bytes = 4095", plan))
                .find("bucket_bytes = 4095: expected at least 4096"),
            std::string::npos);
}

TEST(PlanFile, KeepsTheSizeOfMicroBatches) {
  Plan plan = sample();
  plan.micro_batch_seconds = 128.0 / 12;
  EXPECT_EQ(parse_plan(plan_toml(plan), "plan.toml", kModel), plan);
  plan.micro_batch_seconds = 16;
  EXPECT_NE(error_message(edited("micro_batch_seconds = 16.0", "micro_batch_seconds = 0.0", plan))
                .find("plan.toml:6: micro_batch_seconds = 0: expected seconds of audio above 0"),
            std::string::npos);
}

TEST(PlanFile, ReadsWhatAPersonWrites) {
  const Plan plan = parse_plan(R"(model = "kind=deepspeech2 hidden=8"
schedule = "gpipe"
micro_batches = 4
lanes = 1
ranks = [[0], [1], [2]]
chunk = [{stage = 0, layers = ["conv1"]}, {stage = 1, layers = ["norm1", "relu1"]},
         {stage = 2, layers = ["rnn1", "ctc"]}]
)",
                               "plan.toml", kModel);
  EXPECT_EQ(plan.stages(), 3);
  EXPECT_EQ(plan.replicas(), 1);
  EXPECT_EQ(plan.chunks[2].first, 3);
  EXPECT_EQ(plan.chunks[2].last(), 5);
  EXPECT_FALSE(plan.recomputed());  // the recipe's word holds
}

TEST(PlanFile, KnowsWhichLayersAreRecomputed) {
  EXPECT_EQ(sample().recomputed(), (ChosenLayers{false, true, false, false, false}));
}

TEST(PlanFile, KnowsWhereARankStandsAndItsLanes) {
  EXPECT_EQ(sample().place_of(3), (StageReplica{1, 0}));
  EXPECT_THROW(sample().place_of(4), std::out_of_range);
  EXPECT_EQ(sample().lanes_of_replicas(), (std::vector{2, 1}));
}

TEST(PlanFile, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string from, to, message;
  };
  const Case cases[] = {
      {"schedule", "shedule", "plan.toml:4: unknown key shedule; did you mean schedule?"},
      {"schedule = \"1f1b\"\n", "", "schedule is missing"},
      {"\"1f1b\"", "\"2f2b\"", "plan.toml:4: pipeline.schedule = \"2f2b\": known are gpipe, 1f1b"},
      {"micro_batches = 5", "micro_batches = 0",
       "plan.toml:5: micro_batches = 0: expected at least 1"},
      {"micro_batches = 5", "micro_batches = 2", "plan.toml:5: micro_batches = 2 leaves some of 3"},
      {"lanes = 3", "lanes = 1", "plan.toml:6: lanes = 1 leaves some of 2 replicas"},
      {"lanes = 3", "lanes = \"3\"", "plan.toml:6: lanes must be a whole number"},
      {"hidden=8", "hidden=9", "plan.toml:3: the plan is for another model"},
      {"[3, 1]", "[3, 0]", "plan.toml:7: rank 0 is listed twice"},
      {"[3, 1]", "[3, 4]", "plan.toml:7: rank 4: those of 2 stages of 2 replicas are 0 to 3"},
      {"[3, 1]", "[3]", "plan.toml:7: every stage has the same number of replicas"},
      {"[3, 1]", "[3, 1.0]", "plan.toml:9: expected a rank, a whole number"},
      {"\"norm1\"", "\"nrom1\"", "the model has no layer nrom1; did you mean norm1?"},
      {", \"norm1\"", "", "layer norm1 is missing before relu1"},
      {"\"relu1\"", "\"conv1\"", "layer conv1 is listed twice or out of order"},
      {", \"ctc\"", "", "the last chunk must end with layer ctc"},
      {"stage = 1", "stage = 0", "1f1b runs chunk 1 on stage 1, found stage 0"},
      {"  [3, 1],\n", "", "1f1b of 1 stage runs 1 chunk, found 2"},
      {"saved_bytes", "savd_bytes",
       "unknown key chunk.predicted.savd_bytes; did you mean saved_bytes?"},
      {"recompute = [\"norm1\"]", "recompute = [\"relu1\"]",
       "plan.toml:15: recompute names relu1, which is none of the chunk's layers"},
      {"recompute = [\"norm1\"]", "recompute = [\"norm1\", \"norm1\"]",
       "plan.toml:15: recompute names norm1 twice"},
      {"recompute = [\"norm1\"]", "recompute = \"norm1\"", "chunk.recompute must be a list"},
      {"recompute = []  # whose activations are recomputed before their backward\n", "",
       "chunk 1 lacks recompute, which chunk 0 has: add recompute = []"},
      {"lanes = 3", "lanes = ", "plan.toml:6: not TOML"},
  };
  for (const auto& [from, to, message] : cases) {
    const std::string found = error_message(edited(from, to));
    EXPECT_NE(found.find(message), std::string::npos) << "expected: " << message << "\n" << found;
  }
}

TEST(PlanFile, HoldsOrderAndLists) {
  EXPECT_EQ(parse_plan(plan_toml(found_sample()), "plan.toml", kModel), found_sample());
  Plan ordered = sample();
  ordered.order = {4, 0, 2, 1, 3};
  EXPECT_EQ(parse_plan(plan_toml(ordered), "plan.toml", kModel), ordered);
}

TEST(PlanFile, SaysWhereOrderAndListsBreak) {
  struct Case {
    std::string from, to, message;
  };
  const Case cases[] = {
      {"4, 0, 2, 1, 3", "4, 0, 2, 1", "plan.toml:7: order has 4 places, but a step has 5"},
      {"4, 0, 2, 1, 3", "4, 0, 2, 0, 3", "plan.toml:7: order names 0 twice"},
      {"4, 0, 2, 1, 3", "5, 0, 2, 1, 3", "plan.toml:7: order names 5, but"},
      {"4, 0, 2, 1, 3", "-7, 0, 2, 1, 3", "plan.toml:7: order names -7, but"},
      {"4, 0, 2, 1, 3", "4, 0, 2, 99999999999, 3",
       "plan.toml:7: order names 99999999999, which is no micro-batch of a step"},
      {"4, 0, 2, 1, 3", "4, 0, 2, 1, 3.0", "plan.toml:7: expected the place of a micro-batch"},
      {"schedule = \"found\"", "schedule = \"1f1b\"",
       "plan.toml:8: actions need schedule = \"found\""},
      {"1F0,1B0", "1F0,1X0", "plan.toml:8: actions: row 2, column 2: \"1X0\" is no action"},
      {"1F0,1B0", "1F0,0B0",
       "actions: row 2 must be what stage 1 computes, but backward input of micro-batch 0 on chunk "
       "0 "
       "is of stage 0"},
      {"1F0,1B0,", "1B0,", "rank 1 lacks forward of micro-batch 0"},
      {"1F0,1B0", "1B0,1F0", "rank 1, action"},
      {"1W0,1W1", "1W1,1W0", "rank 1, action"},
      {"0B3,0W3", "0BW3", "actions: row 1 has both gradients at once"},
      {"  \"1F0,1B0,1F1,1B1,1W0,1W1,1F2,1B2,1W2,1F3,1B3,1W3\",\n", "",
       "actions has 1 row, but the plan has 2 stages"},
      {"micro_batches = 5", "micro_batches = 6", "order has 5 places"},
      {"lanes = 3", "lanes = 2", "actions are of 4 micro-batches, but the busiest replica has 3"},
  };
  for (const auto& [from, to, message] : cases) {
    const std::string found = error_message(edited(from, to, found_sample()));
    EXPECT_NE(found.find(message), std::string::npos) << "expected: " << message << "\n" << found;
  }
  Plan forward = found_sample();
  forward.actions = {"0F0,0F1,0F2,0F3", "1F0,1F1,1F2,1F3"};
  EXPECT_NE(error_message(plan_toml(forward)).find("rank 0 lacks backward of micro-batch 0"),
            std::string::npos);
  Plan bare = found_sample();
  bare.actions.clear();
  EXPECT_NE(error_message(plan_toml(bare)).find("plan.toml:4: schedule = \"found\" needs actions"),
            std::string::npos);
}

TEST(PlanFile, ReportsEveryFaultAtOnce) {
  std::string text = edited("schedule", "shedule");
  text.replace(text.find("lanes = 3"), 9, "lanes = 0");
  const std::string found = error_message(text);
  for (const char* part : {"shedule", "schedule is missing", "lanes = 0"}) {
    EXPECT_NE(found.find(part), std::string::npos) << found;
  }
}

TEST(PlanFile, IsReplacedAtomically) {
  const test::TemporaryFolder folder;
  const auto plan = folder.path() / "plan.toml", earlier = folder.path() / "earlier.toml";
  test::write_file(plan, "the plan before");
  std::filesystem::create_hard_link(plan, earlier);
  std::filesystem::create_symlink(plan, folder.path() / "link.toml");
  write_plan(folder.path() / "link.toml", sample());
  EXPECT_EQ(read_plan(plan, kModel), sample());
  EXPECT_EQ(test::read_file(earlier), "the plan before");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "plan.toml.partial"));
}

TEST(PlanFile, UnreadableAndUnwritableFilesThrow) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(read_plan(folder.path() / "none.toml", kModel), ConfigError);
  EXPECT_THROW(write_plan(folder.path() / "none" / "plan.toml", sample()), ConfigError);
}

TEST(PlanFile, RejectsKeysThatNestTooDeeply) {
  std::string key = "a";
  for (int i = 0; i < 1'000'000; ++i) key += ".a";
  EXPECT_EQ(
      error_message(key + " = 1\n"),
      "the plan can't be used:\n  plan.toml:1: not TOML: keys and values nest deeper than 128");
}

/// The number would be rank 2 if it were cut to an int.
TEST(PlanFile, RejectsRanksBeyondNumbersOfRanks) {
  EXPECT_NE(error_message(edited("[0, 2]", "[0, 4294967298]"))
                .find("ranks names 4294967298, which is no rank"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
