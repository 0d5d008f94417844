#include "layers/losses/losses.h"

#include <gtest/gtest.h>

#include <set>

#include "layers/models/families.h"

namespace penstock::layers {
namespace {

TEST(Losses, HaveNamesOfTheirOwn) {
  const std::vector<Loss> all = losses();
  std::set<std::string_view> names;
  for (const Loss& loss : all) EXPECT_TRUE(names.insert(loss.name).second) << loss.name;
  for (const std::string_view name : names) EXPECT_EQ(find_loss(all, name).name, name);
}

TEST(Losses, DeclareAllThatATrainingAsks) {
  for (const Loss& loss : losses()) {
    const LayerPlan plan = loss.make_layer(5)->plan({DType::f32, {{{7, 3}, 5}}}, {});
    EXPECT_TRUE(plan.needs_targets) << loss.name;
    EXPECT_TRUE(plan.output.frames.empty()) << loss.name;
    EXPECT_LE(loss.frames_needed({}), 1) << loss.name;
    const std::vector<float> silent = {9, 0, 0, 9, 0, 0};  // class 0 is no text
    EXPECT_TRUE(loss.make_decoder({}, {})(silent, 3, 3).empty()) << loss.name;
  }
}

TEST(Losses, EndTheModelsOfEveryFamily) {
  for (const ModelFamily& family : model_families()) {
    const int features = family.name() == "wav2vec2" ? 1 : 80;
    const auto sequence = build_layers(family, {.features = features, .labels = 5});
    EXPECT_EQ(sequence.back()->name(), family.loss().make_layer(5)->name()) << family.name();
  }
}

}  // namespace
}  // namespace penstock::layers
