#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "comm/threads.h"
#include "configs/flatten.h"
#include "configs/load.h"
#include "configs/write.h"
#include "layers/models/families.h"
#include "layers/nn/elementwise.h"
#include "layers/nn/linear.h"
#include "partition/layout/build_model.h"
#include "runtime/recognise/evaluate_manifests.h"
#include "runtime/trainer/trainer.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// All that a second family takes: products and ReLUs, frame by frame.
struct Perceptron {
  static constexpr std::string_view kind = "perceptron";

  int width = 16, depth = 1;
  std::string last = "bias";  // bias | none

  std::vector<Key> keys() {
    return {Key("model.width", &width, between(1, 512), "channels of every hidden layer"),
            Key("model.depth", &depth, between(0, 9), "hidden layers"),
            Key("model.last", &last, one_of({"bias", "none"}), "what the last product adds")};
  }

  std::vector<Contradiction> contradictions(int features) const {
    if (width <= features) return {};
    return {{"model.width", "model.width is above model.features: nothing is left to find"}};
  }

  std::vector<std::unique_ptr<layers::Layer>> build(const layers::ModelEnds& ends) const {
    std::vector<std::unique_ptr<layers::Layer>> layers;
    int in = ends.features;
    for (int i = 1; i <= depth; ++i, in = width) {
      const std::string number = fmt::to_string(i);
      layers.push_back(std::make_unique<layers::Linear>(
          layers::LinearOptions{.name = "hidden" + number, .in = in, .out = width}));
      layers.push_back(std::make_unique<layers::ClippedReLU>("relu" + number));
    }
    layers.push_back(std::make_unique<layers::Linear>(layers::LinearOptions{
        .name = "output", .in = in, .out = ends.outputs(), .bias = last == "bias"}));
    ends.add_decoder(layers);
    return layers;
  }
};

std::vector<layers::ModelFamily> families() {
  return {layers::model_families().front(), Perceptron()};
}

using Overrides = std::vector<std::string>;

configs::Config parsed(const std::string& text, const Overrides& overrides = {}) {
  return configs::parse_config(text, "recipe.toml", families(), overrides);
}

std::string fault(const std::string& text, const Overrides& overrides = {}) {
  return test::message_of<ConfigError>([&] { parsed(text, overrides); });
}

const char* const kWide = "[model]\nwidth = 24\nkind = 'perceptron'\n";

TEST(SecondFamily, IsChosenByItsName) {
  EXPECT_EQ(parsed(kWide).model.family.as<Perceptron>().width, 24);
  EXPECT_EQ(parsed("").model.family.name(), "deepspeech2");
  const configs::Config over = parsed("", Overrides{"model.depth=3", "model.kind=perceptron"});
  EXPECT_EQ(over.model.family, layers::ModelFamily(Perceptron{.depth = 3}));
  const configs::Config back =
      parsed("", Overrides{"model.kind=perceptron", "model.kind=deepspeech2"});
  EXPECT_EQ(back, parsed(""));
}

TEST(SecondFamily, MayBeAModelsFile) {
  test::TemporaryFolder folder;
  const std::string file = (folder.path() / "model.toml").string();
  test::write_file(file, kWide);
  const configs::Config config = parsed("[model]\ndepth = 2", Overrides{"model.base=" + file});
  EXPECT_EQ(config.model.family, layers::ModelFamily(Perceptron{.width = 24, .depth = 2}));
}

TEST(SecondFamily, ItsKeysAreCheckedLikeAnyOthers) {
  EXPECT_EQ(fault("[model]\nkind = 'perceptron'\nhidden = 7\nwidht = 9\nlast = 'least'"),
            "the configuration can't be used:\n"
            "  recipe.toml:3: unknown key model.hidden, which goes with model.kind = deepspeech2\n"
            "  recipe.toml:4: unknown key model.widht; did you mean model.width?\n"
            "  recipe.toml:5: model.last = least, but it takes one of bias, none");
  EXPECT_NE(fault("[model]\nwidth = 24")
                .find("unknown key model.width, which goes with model.kind = perceptron"),
            std::string::npos);
  EXPECT_NE(fault("", {"model.kind=conformer"})
                .find("model.kind = conformer, but it takes one of deepspeech2, perceptron"),
            std::string::npos);
  EXPECT_EQ(fault(kWide, {"model.features=9"}),
            "the configuration can't be used:\n  recipe.toml:2: model.width is above "
            "model.features: nothing is left to find");
}

TEST(SecondFamily, HasATableInTheReference) {
  const std::string page = configs::config_reference(families());
  EXPECT_NE(page.find("| `model.kind` | one of deepspeech2, perceptron | `\"deepspeech2\"` |"),
            std::string::npos);
  EXPECT_NE(page.find("### model.kind = \"deepspeech2\"\n\n| key | takes | default | meaning |\n"
                      "|---|---|---|---|\n| `model.channels` |"),
            std::string::npos);
  EXPECT_NE(page.find("### model.kind = \"perceptron\"\n\n| key | takes | default | meaning |\n"
                      "|---|---|---|---|\n| `model.width` | a whole number from 1 to 512 | `16` | "
                      "channels of every hidden layer ‡ |\n"),
            std::string::npos);
}

TEST(SecondFamily, ComesBackFromACheckpoint) {
  const configs::Config config = parsed(kWide);
  const configs::FlatConfig flat = configs::flatten(config);
  EXPECT_EQ(flat.at("model.width"), "24");
  EXPECT_EQ(flat.count("model.hidden"), 0u);
  EXPECT_EQ(configs::unflatten(flat, "checkpoint", families()), config);
  EXPECT_EQ(configs::differences(config, parsed("")),
            (std::vector<configs::Difference>{
                {"model.kind", "perceptron", "deepspeech2", configs::OnResume::fixed}}));
}

TEST(SecondFamily, IsPlannedFromItsDeclaration) {
  const configs::ModelConfig model{.features = 17, .family = Perceptron{.width = 9}};
  EXPECT_EQ(partition::model_summary(model, 5),
            "kind=perceptron features=17 width=9 depth=1 last=bias labels=5");
  const auto plans =
      partition::plan_layers(partition::build_model(model, 5), std::vector<std::int64_t>{7, 3}, {});
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(plans.front().params.front().shape, (layers::Shape{9, 17}));
  const configs::ModelConfig none{.family = Perceptron{.width = 0}};
  EXPECT_EQ(test::message_of<ConfigError>([&] { partition::build_model(none, 5); }),
            "no such model can be built:\n"
            "  model.width = 0, but it takes a whole number from 1 to 512");
}

/// A corpus of tones, and recipes to train on it in two stages.
class SecondFamilyRun : public testing::Test {
 protected:
  SecondFamilyRun() { test::write_tone_corpus(in("train.jsonl"), 9, 1); }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }

  TrainingSummary train_as(const std::string& model, const Overrides& overrides = {}) const {
    const configs::Config config =
        parsed("[model]\nfeatures = 41\n" + model +
                   "[text]\nalphabet = 'abcd'\n"
                   "[features]\nsample_rate = 8000\nwindow_ms = 10\nhop_ms = 5\n"
                   "[optimizer]\nlearning_rate = 0.01\n[data]\nmicro_batch_seconds = 2.5\n"
                   "train = '" +
                   in("train.jsonl") + "'\n[pipeline]\nstages = 2\n" +
                   "[trainer]\nsteps = 6\noutput = '" + in("output") + "'\n",
               overrides);
    TrainingSummary summary;
    comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
      const TrainingSummary told = train({config}, world, {});
      if (world.rank() == 0) summary = told;
    });
    return summary;
  }

  test::TemporaryFolder folder_;
};

const char* const kPerceptron = "kind = 'perceptron'\nwidth = 24\n";

TEST_F(SecondFamilyRun, TrainsGoesOnAndRecognises) {
  EXPECT_EQ(train_as(kPerceptron, {"trainer.steps=1"}).parameters, 41 * 24 + 24 + 24 * 5 + 5);
  const TrainingSummary went_on = train_as(kPerceptron, {"trainer.resume=true"});
  EXPECT_EQ(went_on.steps, 5);
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    const EvaluationTotals totals = evaluate_checkpoint(
        {.checkpoint = in("output"), .families = families()}, {{in("train.jsonl")}}, world);
    EXPECT_EQ(totals.step, 6);
    const EvaluationReport report = report_of(sum_of(totals));
    EXPECT_EQ(report.utterances, 9);
    EXPECT_GT(report.loss, 0);
  });
}

TEST_F(SecondFamilyRun, CannotGoOnAsAnotherFamily) {
  train_as(kPerceptron, {"trainer.steps=1"});
  const std::string refused = test::message_of<ConfigError>(
      [&] { train_as("channels = 2\nhidden = 5\n", {"trainer.resume=true"}); });
  EXPECT_NE(refused.find("\n  model.kind: was perceptron, is now deepspeech2\nSet it back"),
            std::string::npos)
      << refused;
}

}  // namespace
}  // namespace penstock::runtime
