#include "partition/layout/build_model.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/wav2vec2.h"
#include "layers/models/whisper.h"
#include "partition/layout/chunk_bytes.h"
#include "partition/layout/parameter_layout.h"
#include "partition/planner/cost/cost.h"
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

/// Plans and profiles from before there were masks stay valid, and lengths of masks cost nothing.
TEST(ModelSummary, HasMasksOnlyIfThereAreAny) {
  const auto summary = [](const layers::SpanMaskOptions& masks) {
    const layers::Wav2Vec2Options options{.masks = masks};
    return model_summary({.features = 1, .family = options}, 29);
  };
  const std::string without = summary({});
  EXPECT_EQ(without.find("mask"), std::string::npos) << without;
  EXPECT_EQ(without.find("spec_augment"), std::string::npos) << without;
  const std::string with = summary({.time = {.share = 0.05}});
  EXPECT_NE(with.find(" mask_time_prob=0.05 "), std::string::npos) << with;
  EXPECT_EQ(with, summary({.apply = false, .time = {.share = 0.05, .length = 7}}));
}

/// The same holds for CTC after blocks, whose weight costs nothing.
TEST(ModelSummary, HasIntermediateCtcOnlyIfThereIsSome) {
  const auto summary = [](const layers::IntermediateLosses& losses) {
    const layers::Wav2Vec2Options options{.intermediate = losses};
    return model_summary({.features = 1, .family = options}, 29);
  };
  const std::string without = summary({}), with = summary({.blocks = {2, 6}});
  EXPECT_EQ(without.find("_ctc"), std::string::npos) << without;
  EXPECT_EQ(without, summary({.weight = 0.3}));
  EXPECT_NE(with.find(" intermediate_ctc=[2, 6] "), std::string::npos) << with;
  EXPECT_EQ(with, summary({.blocks = {2, 6}, .weight = 0.3}));
  EXPECT_NE(summary({{2, 6}, 0.5, true}).find(" self_conditioned_ctc=true "), std::string::npos);
}

/// Smoothing costs nothing, and CTC had none before.
TEST(ModelSummary, LeavesOutTheSmoothingOfCtc) {
  configs::ModelConfig smoothed = tiny();
  smoothed.networks.smoothing = 0.1;
  EXPECT_EQ(model_summary(smoothed, 29), model_summary(tiny(), 29));
}

/// A decoder's own keys count, and only those, so plans for others stay valid when keys are added.
TEST(ModelSummary, HasTheKeysOfTheDecoder) {
  configs::ModelConfig model = tiny();
  model.decoder = "rnnt";
  const std::string summary = model_summary(model, 29);
  EXPECT_NE(summary.find("decoder.prediction=lstm decoder.width=640 decoder.layers=1 "
                         "decoder.context=2 decoder.joint=640 decoder.activation=relu "
                         "decoder.durations=[0, 1, 2, 3, 4] decoder.sigma=0.05 labels=29"),
            std::string::npos)
      << summary;
  model.networks.ctc_weight = 0.3;
  EXPECT_NE(model_summary(model, 29).find("ctc_weight=0.3"), std::string::npos);
  model.networks = {.eos = 2};
  EXPECT_EQ(model_summary(model, 29), summary);
  model.decoder = "lm";
  EXPECT_NE(model_summary(model, 29).find("eos=2 labels=29"), std::string::npos);
}

TEST(BuildModel, RefusesTokensThatAreNoClasses) {
  configs::ModelConfig model = tiny();
  model.decoder = "lm";
  model.networks = {.prefix = {31}, .prompt = {30, 3}, .eos = 29};
  EXPECT_EQ(test::message_of<ConfigError>([&] { build_model(model, 29); }),
            "no such model can be built:\n"
            "  decoder.eos = 29 is no class: there are 29, from 0 on (model.classes, or the text's "
            "labels)\n"
            "  decoder.prefix = 31 is no class: there are 29, from 0 on (model.classes, or the "
            "text's labels)\n"
            "  decoder.prompt = 30 is no class: there are 29, from 0 on (model.classes, or the "
            "text's labels)");
  model.decoder = "attention";
  model.networks = {.suppress = {3, 29}, .begin_suppress = {30}};
  EXPECT_EQ(test::message_of<ConfigError>([&] { build_model(model, 29); }),
            "no such model can be built:\n"
            "  decoder.suppress = 29 is no class: there are 29, from 0 on (model.classes, or the "
            "text's labels)\n"
            "  decoder.begin_suppress = 30 is no class: there are 29, from 0 on (model.classes, or "
            "the text's labels)");
}

TEST(BuildModel, ItsModelsCanBePlannedWithoutMeasuring) {
  const LayerSequence sequence = build_model(tiny(), 29);
  const Lengths lengths{400, 371, 343, 314, 286, 257, 229, 200};
  PlanRequest request;
  request.model = model_summary(tiny(), 29);
  request.costs = analytic_costs(sequence, lengths, {}, default_rates({}));
  request.transfers = transfer_costs(sequence, {lengths}, {}, default_link({}));
  request.pipeline.stages = 2;
  request.micro_batches = 8;
  request.bytes = ChunkBytes(sequence, {{{{{lengths}}}, make_schedule("1f1b", 2, 8)}}, {}, {});
  const Plan plan = make_plan(sequence, request);
  EXPECT_EQ(plan.chunks[0].predicted.parameters + plan.chunks[1].predicted.parameters,
            parameters(sequence));
  EXPECT_GT(estimate_plan(plan, request.costs).bound, 1.4);
}

using Patterns = std::vector<std::string>;

const std::vector<std::int64_t> kLengths = {50, 31};

configs::Config config_with(const Patterns& freeze, const Patterns& rates = {}) {
  configs::Config config;
  config.model = {.features = 41,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 13, .layers = 2}};
  config.optimizer.freeze = freeze;
  config.optimizer.learning_rates = rates;
  return config;
}

std::map<std::string, double> rates_of(const configs::Config& config) {
  std::map<std::string, double> rates;
  for (const layers::LayerPlan& plan : plan_without_frames(build_trained_model(config, 7), {}))
    for (const layers::ParamDecl& p : plan.params) rates[p.name] = p.rate;
  return rates;
}

std::string fault(const Patterns& freeze, const Patterns& rates = {}) {
  return test::message_of<ConfigError>(
      [&] { (void)build_trained_model(config_with(freeze, rates), 7); });
}

TEST(TrainedModel, PatternsGiveEachParameterItsRate) {
  for (const auto& [name, rate] : rates_of(config_with({}))) EXPECT_EQ(rate, 1) << name;
  const auto rates =
      rates_of(config_with({"conv?.*", "*.bias"}, {"output.weight:10", "*.weight: 0.25"}));
  EXPECT_EQ(rates.at("conv1.weight"), 0);
  EXPECT_EQ(rates.at("rnn1.bias"), 0);
  EXPECT_EQ(rates.at("rnn1.weight"), 0.25);
  EXPECT_EQ(rates.at("output.weight"), 10);  // the first that matches
}

// MMS's adapters with a new head are trained so: all else is frozen.
TEST(TrainedModel, PatternsTakeNamesOutOfOthers) {
  configs::Config config = config_with({"*", "!*.adapter.*", "!output.*"});
  config.model.features = 1;
  config.model.family = layers::Wav2Vec2Options{
      .width = 16, .heads = 2, .layers = 2, .inner = 24, .norm_first = true, .adapter = 3};
  std::set<std::string> trained;
  for (const auto& [name, rate] : rates_of(config))
    if (rate > 0) trained.insert(name);
  std::set<std::string> expected = {"output.bias", "output.weight"};
  for (const char* block : {"block1", "block2"})
    for (const char* part : {"norm", "linear1", "linear2"})
      for (const char* kind : {"weight", "bias"})
        expected.insert(fmt::format("{}.adapter.{}.{}", block, part, kind));
  EXPECT_EQ(trained, expected);
}

// Whisper's stored positions, with patterns and without.
TEST(TrainedModel, NeverTrainsWhatItsLayerKeepsFixed) {
  configs::Config config = config_with({});
  config.model.family = layers::WhisperOptions{
      .width = 8, .heads = 2, .layers = 1, .inner = 6, .stored_positions = true};
  for (const Patterns& freeze : {Patterns{}, Patterns{"norm.*"}}) {
    config.optimizer.freeze = freeze;
    const auto rates = rates_of(config);
    EXPECT_EQ(rates.at("positions.weight"), 0);
    EXPECT_EQ(rates.at("output.weight"), 1);
  }
}

TEST(TrainedModel, RefusesToTreatTiedTablesApart) {
  const auto with = [](const Patterns& freeze, const Patterns& rates) {
    configs::Config config = config_with(freeze, rates);
    config.model.decoder = "lm";
    config.model.networks = {.width = 8, .layers = 1, .heads = 2, .inner = 6, .tied = true};
    return config;
  };
  const auto rates = rates_of(with({"decoder.text.*", "decoder.output.*"}, {}));
  EXPECT_EQ(rates.at("decoder.text.weight"), 0);
  EXPECT_EQ(rates.at("decoder.output.weight"), 0);
  EXPECT_EQ(rates_of(with({}, {"decoder.*:2"})).at("decoder.output.weight"), 2);
  EXPECT_EQ(test::message_of<ConfigError>([&] { (void)rates_of(with({"decoder.text.*"}, {})); }),
            "decoder.output.weight has the values of decoder.text.weight, but optimizer.freeze, "
            "optimizer.learning_rates or lora.train give them factors of 1 and 0: name both, or "
            "neither");
  EXPECT_THROW((void)rates_of(with({}, {"decoder.output.weight:0.5"})), ConfigError);
}

TEST(TrainedModel, AFrozenModelSumsNoGradient) {
  const LayerSequence frozen = build_frozen_model(config_with({}).model, 7);
  const auto plans = plan_layers(frozen, kLengths, {});
  const std::vector<layers::LayerPlan> trained =
      plan_layers(build_trained_model(config_with({}), 7), kLengths, {});
  ASSERT_EQ(plans.size(), trained.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_FALSE(plans[i].runs_backward()) << i;
    EXPECT_EQ(plans[i].flops.forward, trained[i].flops.forward) << i;
  }
  EXPECT_EQ(lay_out_parameters(plans, {}, 0).arena, 0u);
  EXPECT_GT(lay_out_parameters(trained, {}, 0).arena, 0u);
}

TEST(TrainedModel, BackwardEndsAtTheLowestTrainedLayer) {
  const auto plans = plan_layers(
      build_trained_model(config_with({"conv*", "norm?.*", "rnn1.input.*"}), 7), kLengths, {});
  bool below = true;
  for (const layers::LayerPlan& plan : plans) {
    const bool is_rnn1 = !plan.params.empty() && plan.params[0].name == "rnn1.weight";
    if (is_rnn1) below = false;
    EXPECT_EQ(plan.runs_backward(), !below);
    EXPECT_EQ(plan.flops.backward_input > 0 || plan.flops.backward_weight > 0,
              !below && plan.flops.forward > 0);
    // A recurrence adds its weights' gradients from that of its input, which it makes anyway.
    EXPECT_EQ(plan.passes_gradient, !below);
  }
  EXPECT_FALSE(below);
}

TEST(TrainedModel, FrozenLayersCostNoBackward) {
  const LayerSequence sequence = build_trained_model(config_with({"conv*", "rnn2.input.*"}), 7);
  const auto costs = analytic_costs(sequence, kLengths, {}, default_rates({}));
  for (const LayerCost& cost : costs) {
    if (cost.layer == "conv1") {
      EXPECT_EQ(cost.backward_input + cost.backward_weight, 0);
    }
    if (cost.layer == "rnn2.input") {
      EXPECT_GT(cost.backward_input, 0);
      EXPECT_EQ(cost.backward_weight, 0);
    }
  }
}

TEST(TrainedModel, PatternsThatMatchNothingNameWhatIsNear) {
  const std::string message = fault({"rnn1.inptu.weight", "conv1.*"}, {"rnn9*:2"});
  for (const char* part :
       {"optimizer.freeze has the pattern \"rnn1.inptu.weight\"", "rnn1.input.weight",
        "optimizer.learning_rates has the pattern \"rnn9*\"", "rnn2.norm.weight"})
    EXPECT_NE(message.find(part), std::string::npos) << part << " is not in " << message;
  EXPECT_EQ(message.find("\"conv1.*\""), std::string::npos) << message;
  EXPECT_NE(fault({"zzz"}).find("conv1.weight"), std::string::npos);
  EXPECT_NE(fault({"*", "!outptu.*"}).find("has the pattern \"outptu.*\", which matches no"),
            std::string::npos);
  EXPECT_NE(fault({}, {"!output.*: 0.1"}).find("pattern \"!output.*\", which matches no"),
            std::string::npos);
  EXPECT_NE(fault({"!output.*"}).find("begin it with a pattern such as \"*\""), std::string::npos);
}

configs::Config adapted(const Patterns& targets, const Patterns& train = {}) {
  configs::Config config = config_with({});
  config.model.lora = {.rank = 3, .targets = targets, .train = train};
  return config;
}

TEST(AdaptedModel, TrainsAdaptersAndWhatIsNamed) {
  for (const auto& [name, rate] : rates_of(adapted({"rnn?.input"}, {"output.*"})))
    EXPECT_EQ(rate > 0, name.find(".lora_") != std::string::npos || name.starts_with("output."))
        << name;
  configs::Config frozen = adapted({"rnn?.input"});
  frozen.optimizer.freeze = {"rnn1.*"};
  frozen.optimizer.learning_rates = {"*.lora_B.weight: 16"};
  const auto rates = rates_of(frozen);
  EXPECT_EQ(rates.at("rnn1.input.lora_B.weight"), 0);
  EXPECT_EQ(rates.at("rnn2.input.lora_A.weight"), 1);
  EXPECT_EQ(rates.at("rnn2.input.lora_B.weight"), 16);
  const auto all_but_one = rates_of(adapted({"*", "!rnn2.input"}));
  EXPECT_EQ(all_but_one.count("rnn1.input.lora_A.weight"), 1u);
  EXPECT_EQ(all_but_one.count("rnn2.input.lora_A.weight"), 0u);
}

TEST(AdaptedModel, IsBuiltForRecognitionToo) {
  const LayerSequence sequence = build_frozen_model(adapted({"rnn2.input"}).model, 7);
  int adapters = 0;
  for (const layers::LayerPlan& plan : plan_layers(sequence, kLengths, {}))
    for (const layers::ParamDecl& p : plan.params) {
      EXPECT_TRUE(p.frozen() && !p.summed) << p.name;
      adapters += p.name.find("rnn2.input.lora_") == 0 ? 1 : 0;
    }
  EXPECT_EQ(adapters, 2);
}

TEST(AdaptedModel, NamesPatternsThatFitNothing) {
  const auto fault = [](const configs::Config& config) {
    return test::message_of<ConfigError>([&] { (void)build_trained_model(config, 7); });
  };
  const std::string unknown = fault(adapted({"rnn1.inptu"}));
  EXPECT_NE(unknown.find("matches no linear layer"), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("rnn1.input"), std::string::npos) << unknown;
  EXPECT_NE(fault(adapted({"rnn1.input"}, {"zzz"})).find("lora.train"), std::string::npos);
  const std::string both = fault(adapted({"output"}, {"output.*"}));
  EXPECT_NE(both.find("output.weight, which has an adapter"), std::string::npos) << both;
}

TEST(TrainedModel, RefusesToTrainNothing) {
  EXPECT_NE(fault({"*"}).find("leave at least one"), std::string::npos);
  EXPECT_EQ(fault({"[a-n]*", "rnn*"}).find("leave at least one"), std::string::npos);
}

}  // namespace
}  // namespace penstock::partition
