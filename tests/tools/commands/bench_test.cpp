#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

class Bench : public testing::Test {
 protected:
  Bench() {
    test::write_file(model_, "[model]\nfeatures = 17\nchannels = 2\nhidden = 7\nlayers = 1\n");
  }

  /// `penstock bench tiny.toml …`, alone or on so many ranks.
  test::Outcome bench(std::vector<std::string> options, int ranks = 0) const {
    std::vector<std::string> words;
    if (ranks > 0)
      words = {PENSTOCK_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-np",
               fmt::to_string(ranks)};
    words.insert(words.end(), {PENSTOCK_BINARY, "bench", model_});
    words.insert(words.end(), options.begin(), options.end());
    return test::run_program(words);
  }
  /// The report on three small micro-batches a step.
  nlohmann::json report(int ranks, std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--batch", "2", "--seconds", "0.5", "--micro-batches", "3", "--steps",
                             "2", "--json"});
    const auto outcome = bench(more, ranks);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out);  // throws if more than one rank printed
  }

  test::TemporaryFolder folder_;
  std::string model_ = (folder_.path() / "tiny.toml").string();
};

TEST_F(Bench, HelpsWithItsDefaults) {
  const std::string help =  // long lists of values, too, in one line
      std::regex_replace(bench({"--help"}).out, std::regex("\n {6}(?! )"), "");
  for (const char* option : {"--batch INT:[1 - 4096]=8 ", "--seconds FLOAT:[0.1 - 3600]=4\n",
                             "--micro-batches INT:[1 - 4096]=1\n",
                             "{gpipe,1f1b,interleaved,interleaved-3,interleaved-4,zb-h1,zb-h2,"
                             "zb-v,v-half,v-min,dualpipe-v}=1f1b\n",
                             "{fp32,tf32,fp16,bf16}=fp32\n"})
    EXPECT_NE(help.find(option), std::string::npos) << option << " is not in " << help;
}

TEST_F(Bench, ReportsAloneAndInStages) {
  const auto alone = report(0), stages = report(2);
  for (const auto& object : {alone, stages}) {
    EXPECT_GT(object["audio_s_per_s"], 0);
    EXPECT_GT(object["step_s"], 0);
    EXPECT_GT(object["parameters"], 0);
    // Lengths of 0.25 and 0.5 s in each of three micro-batches.
    EXPECT_NEAR(object["audio_s_per_s"].get<double>() * object["step_s"].get<double>(), 2.25, 1e-9);
  }
  const auto flops = [](const nlohmann::json& r) {
    return r["flops_per_s"].get<double>() * r["step_s"].get<double>();
  };
  EXPECT_GT(flops(alone), 0);
  EXPECT_NEAR(flops(stages), flops(alone), 1e-9 * flops(alone));
  EXPECT_EQ(alone["stages"], 1);
  EXPECT_NEAR(alone["bound"], 1, 1e-9);
  EXPECT_EQ(stages["stages"], 2);
  EXPECT_GE(stages["bound"], 1 - 1e-9);
  EXPECT_LE(stages["bound"], 2);
  EXPECT_EQ(stages["parameters"], alone["parameters"]);
  EXPECT_TRUE(std::isfinite(alone["loss"].get<double>()));
  EXPECT_EQ(stages["loss"], alone["loss"]);
}

TEST_F(Bench, SaysTheSameInWords) {
  const auto outcome = bench({"--batch", "1", "--seconds", "0.1", "--steps", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("audio seconds a second"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("1 stage × 1 replica, 1 micro-batch of 1 utterance"),
            std::string::npos);
}

TEST_F(Bench, SetsAPredictionBesideTheStep) {
  const auto json = report(0);
  EXPECT_EQ(json["predicted_by"], "cpu-avx2");
  EXPECT_GT(json["predicted_s"], 0);
  double seconds = 0;
  for (const auto& kind : json["kinds"]) seconds += kind["measured_s"].get<double>();
  EXPECT_NEAR(seconds, json["stage_s"][0].get<double>(), 1e-9);
  const auto words = bench({"--batch", "1", "--seconds", "0.1", "--steps", "1", "--like", "h200"});
  EXPECT_NE(words.out.find("predicted by h200: "), std::string::npos) << words.out;
  const auto unknown = bench({"--like", "h1000"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("h1000"), std::string::npos) << unknown.err;
}

TEST_F(Bench, TakesACut) { EXPECT_EQ(report(2, {"--cut", "3"})["first_layers"][1], 3); }

TEST_F(Bench, RejectsACutWithAnEmptyStage) {
  EXPECT_NE(bench({"--cut", "0"}).err.find("--cut: takes a whole number from 1"),
            std::string::npos);
  for (const char* cut : {"0", "99", "4,4", "5,4", "3"}) {
    const auto outcome = bench({"--cut", cut});
    EXPECT_EQ(outcome.code, 2) << cut;
    EXPECT_NE(outcome.err.find("--cut"), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(bench({"--cut", "4,4"}, 3).code, 2);
  EXPECT_EQ(bench({"--cut", "99"}, 2).code, 2);
}

TEST_F(Bench, NamesTheOptionItsValueAndRange) {
  struct Fault {
    const char *option, *value, *said;
  };
  for (const Fault& fault : std::vector<Fault>{
           {"--batch", "0", "--batch: takes a whole number from 1 to 4096, not 0"},
           {"--batch", "-3", "--batch: takes a whole number from 1 to 4096, not -3"},
           {"--batch", "x", "--batch: takes a whole number from 1 to 4096, not x"},
           {"--batch", "2.5", "not 2.5"},
           {"--seconds", "0.01", "--seconds: takes a number from 0.1 to 3600, not 0.01"},
           {"--seconds", "nan", "--seconds: takes a number from 0.1 to 3600, not nan"},
           {"--seconds", "inf", "--seconds: "},
           {"--micro-batches", "99999999999", "--micro-batches: "},
           {"--threads", "0", "--threads: takes a whole number from 1 to 1024, not 0"},
           {"--steps", "0", "--steps: "},
           {"--schedule", "zigzag", "--schedule: "}}) {
    const auto outcome = bench({fault.option, fault.value});
    EXPECT_EQ(outcome.code, 2) << fault.option << ' ' << fault.value;
    EXPECT_NE(outcome.err.find(fault.said), std::string::npos) << outcome.err;
    EXPECT_LT(outcome.err.size(), 200u) << outcome.err;
  }
}

TEST(BenchLinks, ReportsBothWaysBetweenTheRanks) {
  const auto outcome =
      test::run_program({PENSTOCK_MPIRUN, "--allow-run-as-root", "--oversubscribe", "-np", "2",
                         PENSTOCK_BINARY, "bench", "--links", "--device", "cpu", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["ranks"], 2);
  EXPECT_EQ(report["measured"], "host");
  ASSERT_EQ(report["links"].size(), 2u);
  for (int i : {0, 1}) {
    EXPECT_EQ(report["links"][i]["from"], i);
    EXPECT_GT(report["links"][i]["bytes_per_s"], 1e6);
    EXPECT_GT(report["links"][i]["latency_s"], 0);
  }
}

TEST(BenchLinks, GoesWithoutAModelAndNothingElseDoes) {
  EXPECT_EQ(test::run_program({PENSTOCK_BINARY, "bench", "--links", "ds2-tiny"}).code, 2);
  const auto outcome = test::run_program({PENSTOCK_BINARY, "bench"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("model is required"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace penstock::tools
