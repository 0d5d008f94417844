#include "runtime/profiling/layer_kinds.h"

#include <gtest/gtest.h>

#include <string>

#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"

namespace penstock::runtime {
namespace {

constexpr int kLabels = 29;

configs::Config of_model(const std::string& name, std::vector<std::string> overrides = {}) {
  overrides.push_back("model.base=" + name);
  return configs::parse_config("", "recipe.toml", layers::model_families(), overrides);
}

std::optional<EachKindOnce> once(const configs::Config& config) {
  return each_kind_once(config, kLabels, partition::build_trained_model(config, kLabels));
}

/// The first recurrent layer of DeepSpeech2 reads the convolutions' channels, the others its own.
TEST(EachKindOnce, OfDeepSpeech2IsTwoLayers) {
  const configs::Config config = of_model("ds2-wide");
  const auto fewer = once(config);
  ASSERT_TRUE(fewer);
  const partition::LayerSequence two =
      partition::build_trained_model(of_model("ds2-wide", {"model.layers=2"}), kLabels);
  EXPECT_EQ(fewer->sequence.size(), two.size());
  const partition::LayerSequence all = partition::build_trained_model(config, kLabels);
  ASSERT_EQ(std::ssize(fewer->like), all.size());
  for (int i = 0; i < all.size(); ++i) {
    const layers::Layer& like = *fewer->sequence.layers.at(fewer->like[i]);
    EXPECT_EQ(typeid(*all.layers[i]), typeid(like)) << all.layers[i]->name();
  }
  EXPECT_EQ(fewer->sequence.layers[fewer->like.front()]->name(), all.layers.front()->name());
  EXPECT_EQ(fewer->sequence.layers[fewer->like.back()]->name(), all.layers.back()->name());
}

TEST(EachKindOnce, OfABillionParametersIsSmall) {
  const configs::Config config = of_model("omni-ctc-1b", {"features.kind=waveform"});
  const auto fewer = once(config);
  ASSERT_TRUE(fewer);
  const auto parameters = [](const partition::LayerSequence& sequence) {
    double count = 0;
    for (const layers::LayerPlan& plan : partition::plan_without_frames(sequence, {}))
      for (const layers::ParamDecl& param : plan.params)
        count += static_cast<double>(layers::element_count(param.shape));
    return count;
  };
  const partition::LayerSequence all = partition::build_trained_model(config, kLabels);
  EXPECT_LT(parameters(fewer->sequence), parameters(all) / 10);
}

TEST(EachKindOnce, OfTheFewestLayersIsNothing) {
  EXPECT_FALSE(once(of_model("ds2-tiny", {"model.layers=2"})));
  EXPECT_FALSE(once(of_model("wav2letter-plus"))) << "no key says how many layers it has";
}

/// A block that is frozen costs less than one that is not.
TEST(EachKindOnce, KeepsFrozenLayersApart) {
  const configs::Config config =
      of_model("ds2-wide", {"optimizer.freeze=[\"conv*\", \"rnn1.*\", \"rnn2.*\", \"rnn3.*\"]"});
  const auto fewer = once(config);
  ASSERT_TRUE(fewer);
  EXPECT_GE(
      fewer->sequence.size(),
      partition::build_trained_model(of_model("ds2-wide", {"model.layers=4"}), kLabels).size());
}

}  // namespace
}  // namespace penstock::runtime
