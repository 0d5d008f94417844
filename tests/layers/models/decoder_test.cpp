#include "layers/models/decoder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/models/decoders.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

Loss loss(std::string_view kind, const DecoderOptions& options = {}) {
  return find_decoder(decoders(), kind).loss(options);
}

TEST(Decoder, IsFoundByItsName) {
  std::string known;
  for (const DecoderKind& decoder : decoders()) known += ", " + std::string(decoder.name);
  EXPECT_EQ(test::message_of<ConfigError>([] { (void)find_decoder(decoders(), "squares"); }),
            "no decoder is named squares: it is one of " + known.substr(2));
}

TEST(DecoderLoss, OfCtcTakesOneNumberForEachClass) { EXPECT_EQ(loss("ctc").channels(9), 9); }

TEST(DecoderLoss, HasTheNetworksOfTheOptions) {
  const Loss tdt = loss("tdt", {.width = 5, .layers = 2, .joint = 7, .durations = {0, 2, 3}});
  EXPECT_EQ(tdt.channels(9), 7);
  EXPECT_EQ(tdt.frames_needed({}), 2);
  std::vector<std::unique_ptr<Layer>> layers;
  tdt.add_layers(layers, 9);
  const auto plan = layers.back()->plan({DType::f32, {{{4}, 7}}}, {});
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
