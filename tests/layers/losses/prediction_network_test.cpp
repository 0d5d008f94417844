#include "layers/losses/prediction_network.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace penstock::layers {
namespace {

std::vector<std::string> names_of(const PredictionOptions& options) {
  const PredictionNetwork network("t", 5, 6, options);
  std::vector<std::string> names;
  const std::vector<std::int64_t> positions = {3, 1};
  for (const ParamDecl& param : network.plan(positions, {}).params) names.push_back(param.name);
  return names;
}

TEST(PredictionNetwork, NamesTheParametersOfItsKind) {
  EXPECT_EQ(names_of({.embedding = 3, .layers = 2, .hidden = 4}),
            (std::vector<std::string>{
                "t.embedding.weight", "t.lstm1.input.weight", "t.lstm1.input.bias",
                "t.lstm1.weight", "t.lstm1.bias", "t.lstm2.input.weight", "t.lstm2.input.bias",
                "t.lstm2.weight", "t.lstm2.bias", "t.projection.weight", "t.projection.bias"}));
  EXPECT_EQ(names_of({.kind = PredictionKind::stateless, .embedding = 8, .context = 2}),
            (std::vector<std::string>{"t.embedding.weight", "t.conv.weight", "t.projection.weight",
                                      "t.projection.bias"}));
  EXPECT_EQ(
      names_of({.kind = PredictionKind::stateless, .embedding = 3, .context = 1}),
      (std::vector<std::string>{"t.embedding.weight", "t.projection.weight", "t.projection.bias"}));
}

TEST(PredictionNetwork, SavesForItsWeightsAlone) {
  const PredictionNetwork network("t", 5, 6, {.embedding = 3, .hidden = 4});
  const std::vector<std::int64_t> positions = {3, 1};
  const LayerPlan plan = network.plan(positions, {});
  EXPECT_EQ(plan.output.only().shape(), (Shape{4, 6}));
  EXPECT_FALSE(plan.saved.empty());
  for (const SavedDecl& saved : plan.saved) {
    EXPECT_EQ(saved.kind, SavedDecl::Kind::own);
    EXPECT_TRUE(saved.for_weights);
  }
}

TEST(PredictionNetwork, RejectsWhatIsNoNetwork) {
  const auto make = [](const PredictionOptions& options) {
    return PredictionNetwork("t", 5, 6, options);
  };
  const PredictionKind stateless = PredictionKind::stateless;
  EXPECT_THROW(make({.embedding = 0, .hidden = 4}), ShapeError);
  EXPECT_THROW(make({.embedding = 3, .layers = 0, .hidden = 4}), ShapeError);
  EXPECT_THROW(make({.embedding = 3, .hidden = 0}), ShapeError);
  EXPECT_THROW(make({.kind = stateless, .embedding = 8, .context = 0}), ShapeError);
  EXPECT_THROW(make({.kind = stateless, .embedding = 8, .context = 3}), ShapeError);
  EXPECT_THROW(make({.kind = stateless, .embedding = 6, .context = 2}), ShapeError);
  EXPECT_NO_THROW(make({.kind = stateless, .embedding = 6, .context = 1}));
}

}  // namespace
}  // namespace penstock::layers
