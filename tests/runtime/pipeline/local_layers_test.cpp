#include "runtime/pipeline/local_layers.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/transformer.h"
#include "partition/layout/build_model.h"
#include "partition/layout/stage_bytes.h"

namespace penstock::runtime {
namespace {

partition::LayerSequence sequence() {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 9, .layers = 2}};
  return partition::build_model(model, 5);
}

TEST(LocalLayers, FollowTheSequenceOverTheRanksChunks) {
  const partition::LayerSequence whole = sequence();
  const int size = whole.size();
  const std::vector<int> cut = {0, 2, 5, 7, size}, down_and_up = {0, 1, 1, 0};
  const LocalLayers all = local_layers(whole, {}, {0, size}, {0}, 0);
  EXPECT_EQ(all.layers.size(), whole.layers.size());

  const LocalLayers outer = local_layers(whole, {}, cut, down_and_up, 0);
  EXPECT_EQ(outer.chunks, (std::vector<int>{0, 3}));
  EXPECT_EQ(outer.first_layers, (std::vector<std::size_t>{0, 2}));
  ASSERT_EQ(outer.layers.size(), 2u + size - 7);
  EXPECT_EQ(outer.layers[1], whole.layers[1].get());
  EXPECT_EQ(outer.layers[2], whole.layers[7].get());
  EXPECT_EQ(outer.norm_blocks[2], all.norm_blocks[7]);
  EXPECT_EQ(outer.norm_blocks[2], partition::norm_blocks(std::span(all.plans).first(7)));

  const LocalLayers inner = local_layers(whole, {}, cut, down_and_up, 1);
  EXPECT_EQ(inner.chunks, (std::vector<int>{1, 2}));
  EXPECT_EQ(inner.layers.size(), 5u);
  EXPECT_EQ(inner.sums + outer.sums, all.sums);
  std::size_t before = 0;
  for (int i = 2; i < 5; ++i) before += all.plans[i].sums;
  EXPECT_GT(before, 0u);
  EXPECT_EQ(inner.first_sums, (std::vector<std::size_t>{0, before}));
}

/// Ranks need labels from the first layer that reads them on.
TEST(LocalLayers, NeedLabelsFromTheirFirstReaderOn) {
  const auto needs = [](const partition::LayerSequence& model, const std::vector<int>& cut) {
    std::vector<bool> ranks;
    for (int rank = 0; rank < 3; ++rank)
      ranks.push_back(local_layers(model, {}, cut, {0, 1, 2}, rank).needs_labels);
    return ranks;
  };
  const partition::LayerSequence ctc = sequence();
  EXPECT_EQ(needs(ctc, {0, 2, ctc.size() - 1, ctc.size()}), (std::vector{false, false, true}));

  configs::ModelConfig model{
      .features = 17,
      .decoder = "lm",
      .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 9, .layers = 2}};
  model.networks = {.width = 8, .layers = 1, .heads = 2, .inner = 5};
  const partition::LayerSequence lm = partition::build_model(model, 5);
  const int text = partition::first_label_reader(partition::plan_without_frames(lm, {}));
  EXPECT_EQ(text, lm.size() - 5);
  EXPECT_EQ(needs(lm, {0, text, text + 1, lm.size()}), (std::vector{false, true, true}));
  EXPECT_EQ(needs(lm, {0, text - 1, text + 1, lm.size()}), (std::vector{false, true, true}));
  EXPECT_EQ(needs(lm, {0, text + 1, text + 2, lm.size()}), (std::vector{true, true, true}));
}

TEST(LocalLayers, NeedACutOfTheWholeSequence) {
  const partition::LayerSequence whole = sequence();
  for (const std::vector<int>& cut :
       {std::vector<int>{}, {0, whole.size()}, {0, 3, 5}, {1, 3, whole.size()}})
    EXPECT_THROW(local_layers(whole, {}, cut, {0, 1}, 0), Error);
}

/// A loss after a block needs them as well, and no layer between it and the last one.
TEST(LocalLayers, NeedLabelsForAuxiliaryLosses) {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::TransformerOptions{.channels = 2,
                                           .width = 8,
                                           .heads = 2,
                                           .layers = 2,
                                           .inner = 5,
                                           .intermediate = {{1}, 0.5}}};
  const partition::LayerSequence whole = partition::build_model(model, 5);
  const std::vector<layers::LayerPlan> plans = partition::plan_without_frames(whole, {});
  int with_loss = 0;
  while (!plans[static_cast<std::size_t>(with_loss)].auxiliary_loss) ++with_loss;
  const std::vector<int> cut = {0, with_loss, with_loss + 1, whole.size() - 1, whole.size()};
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(local_layers(whole, {}, cut, {0, 1, 2, 3}, rank).needs_labels, rank % 2 == 1) << rank;
}

}  // namespace
}  // namespace penstock::runtime
