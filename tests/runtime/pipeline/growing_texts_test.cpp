#include "runtime/pipeline/growing_texts.h"

#include <gtest/gtest.h>

#include "layers/models/transformer.h"
#include "partition/layout/build_model.h"

namespace penstock::runtime {
namespace {

using Numbers = std::vector<std::int64_t>;

/// Two utterances with a beam of 3, and 4 and 6 rows before their texts.
class GrowingTextsOfTwo : public testing::Test {
 protected:
  GrowingTextsOfTwo() {
    work_.lengths = {40, 60};
    texts_.steps = {{7, 0}, {}, {8, 0}, {}, {9, 0}, {}};
  }

  MicroBatchWork work_;
  GrowingTexts texts_{work_, 3, {layers::DType::f32, {{{4, 6}, 5}}, {0, 0}}, 1};
};

TEST_F(GrowingTextsOfTwo, BeginWithOneHypothesisEach) {
  EXPECT_TRUE(texts_.grow());
  EXPECT_EQ(texts_.growing, (Numbers{1, 0, 0, 1, 0, 0}));
  EXPECT_EQ(texts_.most, (Numbers{4, 6}));
  EXPECT_EQ(texts_.past_of_slots, (Numbers{4, 4, 4, 6, 6, 6}));
}

TEST_F(GrowingTextsOfTwo, FollowTheStepsOfARound) {
  texts_.advance();
  EXPECT_EQ(texts_.growing, (Numbers{1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(texts_.growing_of_utterances(), (Numbers{2, 1}));
  EXPECT_EQ(texts_.positions(), (Numbers{4, 4, 6}));
  EXPECT_EQ(texts_.ids(), (std::vector<std::int32_t>{7, 8, 9}));
  texts_.count_rows();
  EXPECT_EQ(texts_.past, (Numbers{5, 7}));
  texts_.steps.assign(6, {});
  texts_.steps[4] = {9, 1};
  texts_.advance();
  texts_.count_rows();
  EXPECT_EQ(texts_.past, (Numbers{5, 8})) << "the first text has ended";
  texts_.steps.assign(6, {});
  texts_.advance();
  EXPECT_FALSE(texts_.grow());
}

// The layers of a decoder that attends are those from its text to its norm.
TEST_F(GrowingTextsOfTwo, AreRowsOfOneTextWhereTheyAttend) {
  configs::ModelConfig model{.features = 9,
                             .family = layers::TransformerOptions{
                                 .channels = 3, .width = 12, .heads = 3, .layers = 1, .inner = 10}};
  model.decoder = "attention";
  model.networks = {.width = 12, .layers = 1, .heads = 2, .inner = 10, .bos = 1};
  const partition::LayerSequence sequence = partition::build_model(model, 5);
  const layers::BackendSizes sizes;
  const auto layout = partition::lay_out_evaluation(
      sequence.layers,
      partition::sequence_input(sequence, work_.lengths, sizes, std::vector<std::int64_t>{0, 0}),
      sizes, true, 3);
  const int first = partition::first_label_reader(partition::plan_without_frames(sequence, sizes));
  texts_.advance();
  const TextRound round(texts_, layout, {sequence.layers, {first + 1, sequence.size() - 1}, sizes});
  EXPECT_EQ(round.rows(), 3);
  EXPECT_EQ(round.width(), 12);
  int attending = 0;
  for (const TextRound::Part& part : round.parts) {
    const bool attends = layout.layers[part.layer].caches_memory;
    attending += attends ? 1 : 0;
    EXPECT_EQ(part.input.frames.back().lengths, attends ? (Numbers{2, 1}) : texts_.growing);
    EXPECT_EQ(part.output.frames.back().rows(), 3);
  }
  EXPECT_EQ(attending, 1);
}

}  // namespace
}  // namespace penstock::runtime
