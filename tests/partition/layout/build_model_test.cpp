#include "partition/layout/build_model.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/planner/plan/plan_estimate.h"
#include "partition/planner/plan/planner.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

using Lengths = std::vector<std::int64_t>;

configs::ModelConfig tiny() {
  return {.features = 80, .family = layers::DeepSpeech2Options{.channels = 8, .hidden = 192}};
}

std::int64_t parameters(const LayerSequence& sequence) {
  std::int64_t count = 0;
  for (const layers::LayerPlan& plan : plan_layers(sequence, Lengths{9}, {})) {
    for (const layers::ParamDecl& param : plan.params) count += layers::element_count(param.shape);
  }
  return count;
}

TEST(BuildModel, HasAsManyParametersAsInPyTorch) {
  EXPECT_EQ(parameters(build_model(tiny(), 29)), 1322296);
  const configs::ModelConfig large{
      .family = layers::DeepSpeech2Options{.rnn = "lstm", .hidden = 1024, .layers = 5}};
  EXPECT_EQ(parameters(build_model(large, 29)), 86618336);
}

TEST(BuildModel, TellsTheFramesThatTheLossSees) {
  const LayerSequence sequence = build_model(tiny(), 29);
  EXPECT_EQ(output_frames(sequence, Lengths{7, 1, 13, 6}), (Lengths{4, 1, 7, 3}));
}

TEST(BuildModel, ListsEveryImpossibleValueAndWhatItTakes) {
  const configs::ModelConfig model{.family = layers::DeepSpeech2Options{.rnn = "rnn", .hidden = 0}};
  EXPECT_EQ(test::message_of<ConfigError>([&] { build_model(model, 1); }),
            "no such model can be built:\n"
            "  model.rnn = rnn, but it takes one of tanh, gru, lstm\n"
            "  model.hidden = 0, but it takes a whole number from 1 to 65536\n"
            "  1 label, but blank and one more are needed");
}

TEST(BuildModel, KeepsAnOutputLayerOfItsOwnSize) {
  configs::ModelConfig model = tiny();
  model.classes = 31;
  EXPECT_EQ(parameters(build_model(model, 29)), parameters(build_model(tiny(), 31)));
  EXPECT_EQ(parameters(build_model(model, 31)), parameters(build_model(tiny(), 31)));
  EXPECT_EQ(model_summary(model, 29), model_summary(tiny(), 31));
  EXPECT_EQ(test::message_of<ConfigError>([&] { build_model(model, 32); }),
            "no such model can be built:\n"
            "  model.classes = 31 has no room for the text's 32 labels, blank included: set it to "
            "32 or more, or to 0 for as many as the text has");
}

TEST(BuildModel, HasLabelsWithoutAText) {
  configs::ModelConfig model = tiny();
  EXPECT_EQ(labels_without_text(model), 29);
  model.classes = 7;
  EXPECT_EQ(labels_without_text(model), 7);
}

TEST(ModelSummary, DiffersWhereModelsDo) {
  EXPECT_EQ(model_summary(tiny(), 29),
            "kind=deepspeech2 features=80 channels=8 rnn=gru hidden=192 layers=3 "
            "bidirectional=true lookahead=20 dropout=0 labels=29");
  configs::ModelConfig named = tiny();
  named.base = "ds2-tiny";
  EXPECT_EQ(model_summary(named, 29), model_summary(tiny(), 29));
  EXPECT_NE(model_summary(tiny(), 28), model_summary(tiny(), 29));
}

TEST(BuildModel, ItsModelsCanBePlannedWithoutMeasuring) {
  const LayerSequence sequence = build_model(tiny(), 29);
  const Lengths lengths{400, 371, 343, 314, 286, 257, 229, 200};
  PlanRequest request;
  request.model = model_summary(tiny(), 29);
  request.costs = analytic_costs(sequence, lengths, {}, default_rates({}));
  request.transfers = transfer_costs(sequence, lengths, {}, default_link({}));
  request.pipeline.stages = 2;
  request.micro_batches = 8;
  request.bytes = ChunkBytes(sequence, {{{lengths}, make_schedule("1f1b", 2, 8)}}, {}, {});
  const Plan plan = make_plan(sequence, request);
  EXPECT_EQ(plan.chunks[0].predicted.parameters + plan.chunks[1].predicted.parameters,
            parameters(sequence));
  EXPECT_GT(estimate_plan(plan, request.costs).bound, 1.4);
}

}  // namespace
}  // namespace penstock::partition
