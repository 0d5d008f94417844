#include "partition/planner/cost/device_profile.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/config.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

DeviceProfile example() {
  DeviceProfile profile;
  profile.model = "two layers";
  profile.device = "CPU";
  profile.ranks = 2;
  profile.threads = 3;
  profile.middling = {{7, 1, 13}, {2, 0, 3}};
  using T = CostTerm;
  profile.layers = {
      {"rnn", {{T::constant, T::longest}, {1e-3, 2e-5}}, {{}, {}}, {{T::frames}, {1e-5}}},
      {"ctc", {{T::frames_labels}, {1e-6}}, {{T::constant}, {0.5}}, {{}, {}}}};
  profile.reading = {{T::frames}, {1e-7}};
  profile.step_s = 0.25;
  profile.parameter_s = 4e-9;
  return profile;
}

const SequenceProfile kNeutral{"two layers", {{"", 0, 0, 128, 64, 0.5}, {"", 0, 0, 0, 0, 0}}};

std::string text() { return device_profile_json(example(), kNeutral); }

TEST(DeviceProfile, ReadsWhatItWrites) {
  const DeviceProfile read = parse_device_profile(text(), "p.json"), made = example();
  EXPECT_EQ(read.model, made.model);
  EXPECT_EQ(read.device, made.device);
  EXPECT_EQ(read.compute, "fp32");
  EXPECT_EQ(read.ranks, 2);
  EXPECT_EQ(read.threads, 3);
  EXPECT_EQ(read.middling.frames, made.middling.frames);
  EXPECT_EQ(read.middling.labels, made.middling.labels);
  EXPECT_EQ(read.step_s, 0.25);
  EXPECT_EQ(read.parameter_s, 4e-9);
  ASSERT_EQ(read.layers.size(), 2u);
  const MicroBatchLengths other{{9, 4}, {1, 5}};
  for (int i = 0; i < 2; ++i)
    for (const auto method :
         {&FittedLayer::forward, &FittedLayer::backward_input, &FittedLayer::backward_weight})
      EXPECT_EQ((read.layers[i].*method).of(other), (made.layers[i].*method).of(other));
  EXPECT_EQ(read.reading.of(other), made.reading.of(other));
}

TEST(DeviceProfile, IsOfLayersAsTheyAreTrained) {
  configs::Config config;
  config.model = {.features = 17,
                  .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 2}};
  const LayerSequence whole = build_trained_model(config, 9);
  config.optimizer.freeze = {"conv*", "norm1*"};
  const LayerSequence frozen = build_trained_model(config, 9);
  const FittedCost second{{CostTerm::constant}, {1}};
  DeviceProfile measured;
  for (const auto& layer : whole.layers)
    measured.layers.push_back({layer->name(), second, second, second});
  EXPECT_EQ(trained_costs(measured, whole).front().backward_weight.seconds.size(), 1u);
  const auto fewer = trained_costs(measured, frozen);
  EXPECT_TRUE(fewer.front().backward_weight.seconds.empty());
  EXPECT_TRUE(fewer.front().backward_input.seconds.empty());
  EXPECT_EQ(fewer.front().forward.seconds, second.seconds);
  EXPECT_EQ(fewer.back().backward_input.seconds, second.seconds);

  measured.layers = fewer;  // as they are measured frozen
  EXPECT_NO_THROW((void)trained_costs(measured, frozen));
  const std::string refused =
      test::message_of<ConfigError>([&] { (void)trained_costs(measured, whole); });
  EXPECT_NE(refused.find("the costs have no weight gradients of conv1, norm1"), std::string::npos)
      << refused;
}

TEST(DeviceProfile, MustMatchTheModelAndItsLayerOrder) {
  const DeviceProfile profile = example();
  const ProfiledModel own{"two layers", "fp32", {"rnn", "ctc"}};
  EXPECT_NO_THROW(check_profile(profile, own));
  const auto error_message = [&](const ProfiledModel& asked) {
    return test::message_of<ConfigError>([&] { check_profile(profile, asked); });
  };
  EXPECT_EQ(error_message({"two layers", "fp16", own.layers}),
            "the costs are of another model\n    measured: two layers, fp32\n    asked:    two "
            "layers, fp16\n    measure again with penstock profile");
  EXPECT_TRUE(
      error_message({"three", "fp32", own.layers}).starts_with("the costs are of another model"));
  EXPECT_TRUE(error_message({own.model, "fp32", {"ctc", "rnn"}})
                  .starts_with("layers[0] of the costs is rnn, of the model ctc: "));
  EXPECT_TRUE(error_message({own.model, "fp32", {"rnn"}})
                  .starts_with("layers[1] of the costs is ctc, of the model none: "));
  EXPECT_TRUE(error_message({own.model, "fp32", {"rnn", "ctc", "softmax"}})
                  .starts_with("layers[2] of the costs is none, of the model softmax: "));
}

TEST(DeviceProfile, NeutralProfileIsOfAMiddlingMicroBatch) {
  const SequenceProfile sequence = parse_profile(text(), "p.json");
  EXPECT_EQ(sequence.name, "two layers");
  ASSERT_EQ(sequence.layers.size(), 2u);
  EXPECT_NEAR(sequence.layers[0].forward_ms, 1 + 0.02 * 13, 1e-12);
  EXPECT_NEAR(sequence.layers[0].backward_ms, 0.01 * 21, 1e-12);
  EXPECT_NEAR(sequence.layers[1].forward_ms, 0.001 * (14 + 39), 1e-12);
  EXPECT_EQ(sequence.layers[0].activation_bytes, 128);
  EXPECT_EQ(sequence.layers[0].parameter_bytes, 64);
  EXPECT_EQ(sequence.layers[0].transfer_ms, 0.5);
}

std::string error_message(std::string from, const std::string& to) {
  std::string changed = text();
  const auto at = changed.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  changed.replace(at, from.size(), to);
  return test::message_of<ConfigError>([&] { parse_device_profile(changed, "p.json"); });
}

TEST(DeviceProfile, NamesFileLayerAndField) {
  const std::string unknown = error_message("\"frames_labels\"", "\"frames_letters\"");
  EXPECT_NE(unknown.find("p.json: layers[1] (ctc): forward: terms: there is no term "
                         "\"frames_letters\""),
            std::string::npos)
      << unknown;
  const std::string missing = error_message("\"backward_weight\"", "\"weight\"");
  EXPECT_NE(missing.find("p.json: layers[0] (rnn): backward_weight: is missing"), std::string::npos)
      << missing;
  const std::string negative = error_message("\"step_s\": 0.25", "\"step_s\": -1");
  EXPECT_NE(negative.find("p.json: step_s: expected a number of at least 0"), std::string::npos)
      << negative;
  EXPECT_NE(error_message("\"ranks\": 2", "\"ranks\": 4294967298")
                .find("p.json: ranks: expected a number of at least 1 and at most 1.04858e+06"),
            std::string::npos);
  const std::string uneven = error_message("0.5\n", "0.5, 1\n");
  EXPECT_NE(uneven.find("p.json: layers[1] (ctc): backward_input: 1 terms, but 2 seconds"),
            std::string::npos)
      << uneven;
  EXPECT_NE(error_message("\"forward_ms\"", "\"forwards\"").find("forward_ms is missing"),
            std::string::npos);
}

TEST(DeviceProfile, SaysWhatANeutralProfileLacks) {
  const std::string neutral =
      R"({"name": "n", "layers": [{"name": "a", "forward_ms": 1, "backward_ms": 2,
          "activation_bytes": 3, "parameter_bytes": 4, "transfer_ms": 5}]})";
  const auto refused =
      test::message_of<ConfigError>([&] { parse_device_profile(neutral, "n.json"); });
  EXPECT_NE(refused.find("n.json: device: is missing: write the profile with penstock profile"),
            std::string::npos)
      << refused;
  EXPECT_THROW(read_device_profile("/gone.json"), ConfigError);
}

}  // namespace
}  // namespace penstock::partition
