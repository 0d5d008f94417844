#include "layers/models/decoder.h"

#include <gtest/gtest.h>

#include "layers/models/conformer.h"

namespace penstock::layers {
namespace {

Loss loss(std::string_view kind, const DecoderOptions& options = {}) {
  return decoder_loss(ConformerOptions(), kind, options);
}

TEST(DecoderLoss, OfCtcIsTheFamilysOwn) {
  EXPECT_EQ(loss("ctc").name, "ctc");
  EXPECT_EQ(loss("ctc").channels, 0);
  EXPECT_EQ(loss("rnnt").name, "rnnt");
  EXPECT_EQ(loss("tdt").name, "tdt");
}

TEST(DecoderLoss, HasTheNetworksOfTheOptions) {
  const Loss tdt = loss("tdt", {.width = 5, .layers = 2, .joint = 7, .durations = {0, 2, 3}});
  EXPECT_EQ(tdt.channels, 7);
  EXPECT_EQ(tdt.frames_needed({}), 2);
  const auto plan = tdt.make_layer(9)->plan({DType::f32, {{{4}, 7}}}, {});
  EXPECT_EQ(plan.params.front().shape, (Shape{9, 5}));
  EXPECT_EQ(plan.params.back().shape, (Shape{9 + 3}));
  EXPECT_EQ(plan.params.size(), 1u + 2 * 4 + 2 + 2);
}

TEST(DecoderLoss, ALabelTakesTheShortestDuration) {
  const std::vector<std::int32_t> labels = {3, 1, 1};
  EXPECT_EQ(loss("rnnt").frames_needed(labels), 1);
  EXPECT_EQ(loss("tdt", {.durations = {2, 4}}).frames_needed(labels), 3 * 2 + 2);
}

}  // namespace
}  // namespace penstock::layers
