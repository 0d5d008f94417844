#include "partition/planner/cost/fitted_costs.h"

#include <gtest/gtest.h>

#include "configs/config.h"
#include "layers/models/deepspeech2.h"
#include "partition/layout/build_model.h"

namespace penstock::partition {
namespace {

const MicroBatchLengths kRagged{{7, 1, 13, 5}, {2, 0, 3, 1}};

TEST(FittedCosts, TermsAreSumsOverUtterancesAndTheLongest) {
  EXPECT_EQ(value_of(CostTerm::constant, kRagged), 1);
  EXPECT_EQ(value_of(CostTerm::frames, kRagged), 26);
  EXPECT_EQ(value_of(CostTerm::longest, kRagged), 13);
  EXPECT_EQ(value_of(CostTerm::frames_squared, kRagged), 49 + 1 + 169 + 25);
  EXPECT_EQ(value_of(CostTerm::frames_labels, kRagged), 14 + 0 + 39 + 5);
  EXPECT_EQ(value_of(CostTerm::frames_labels, {{7, 1}}), 0);  // not known
  EXPECT_EQ(value_of(CostTerm::labels, kRagged), 6);
  EXPECT_EQ(value_of(CostTerm::labels, {{7, 1}}), 0);
  EXPECT_EQ(value_of(CostTerm::labels_squared, kRagged), 4 + 0 + 9 + 1);
}

TEST(FittedCosts, LayersGetTheTermsOfTheirWork) {
  const configs::ModelConfig model{
      .features = 17,
      .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 7, .layers = 1}};
  const LayerSequence sequence = build_model(model, 5);
  const auto terms = cost_terms(sequence, {});
  using T = CostTerm;
  for (int i = 0; i < sequence.size(); ++i) {
    const std::string& name = sequence.layers[i]->name();
    const std::vector<T> expected = name == "rnn1" ? std::vector{T::constant, T::frames, T::longest}
                                    : name == "ctc"
                                        ? std::vector{T::constant, T::frames, T::frames_labels}
                                        : std::vector{T::constant, T::frames};
    EXPECT_EQ(terms[i], expected) << name;
  }
}

/// Returns the terms of a layer of a Conformer that ends in a decoder.
std::vector<CostTerm> terms_of_decoder(const std::string& decoder, const std::string& layer) {
  configs::ModelConfig model{.features = 17,
                             .family = layers::ConformerOptions{.width = 12, .heads = 3}};
  model.decoder = decoder;
  model.networks = {.width = 12, .heads = 3, .inner = 24, .eos = 2};
  const LayerSequence sequence = build_model(model, 31);
  const auto terms = cost_terms(sequence, {});
  for (int i = 0; i < sequence.size(); ++i)
    if (sequence.layers[i]->name() == layer) return terms[i];
  ADD_FAILURE() << "no layer " << layer;
  return {};
}

TEST(FittedCosts, DecodersGrowWithTheirTexts) {
  using T = CostTerm;
  // A language model's rows are frames and text, and each attends to those before it.
  EXPECT_EQ(terms_of_decoder("lm", "decoder.block1.attention"),
            (std::vector{T::constant, T::frames, T::frames_squared, T::frames_labels,
                         T::labels_squared}));
  EXPECT_EQ(terms_of_decoder("lm", "decoder.block1.feed_forward"),
            (std::vector{T::constant, T::frames, T::labels}));
  EXPECT_EQ(terms_of_decoder("lm", "decoder.output"),
            (std::vector{T::constant, T::frames, T::labels}));
  // The text of an attention decoder is a matrix of its own.
  EXPECT_EQ(terms_of_decoder("attention", "decoder.block1.attention"),
            (std::vector{T::constant, T::frames, T::labels, T::labels_squared}));
  EXPECT_EQ(terms_of_decoder("attention", "decoder.block1.cross_attention"),
            (std::vector{T::constant, T::frames, T::frames_labels, T::labels}));
  EXPECT_EQ(terms_of_decoder("rnnt", "transducer"),
            (std::vector{T::constant, T::frames, T::frames_labels}));
}

TEST(FittedCosts, AreTheMeanOfScatteredNumbers) {
  const std::vector<MicroBatchLengths> lengths(3, {.frames = {70, 31}});
  EXPECT_NEAR(fit_cost({CostTerm::constant}, lengths, {1, 7, 4}).of(lengths[0]), 4, 1e-12);
  // 0: the layer has no such pass for this one, and it does not count.
  EXPECT_NEAR(fit_cost({CostTerm::frames}, lengths, {1, 0, 4}).of(lengths[0]), 2.5, 1e-12);
}

TEST(FittedCosts, PredictLengthsThatWereNotMeasured) {
  const std::vector<std::vector<CostTerm>> terms{
      {CostTerm::constant, CostTerm::frames, CostTerm::longest},
      {CostTerm::constant, CostTerm::frames, CostTerm::frames_labels}};
  const auto truth = [](const MicroBatchLengths& m) {
    const double frames = value_of(CostTerm::frames, m), longest = value_of(CostTerm::longest, m);
    return std::vector<LayerCost>{{"rnn", 3 + 0.5 * frames + 2 * longest, 4 * longest, 0},
                                  {"ctc", 0.25 * value_of(CostTerm::frames_labels, m), 1, 0}};
  };
  std::vector<MeasuredMicroBatch> measured;
  for (const MicroBatchLengths& m : std::vector<MicroBatchLengths>{
           {{3}, {1}}, {{5, 4}, {2, 2}}, {{11, 2, 2}, {4, 1, 0}}, {{6, 6, 6}, {1, 2, 3}}})
    measured.push_back({m, truth(m)});
  const CostModel model = fitted_cost_model(fit_costs(terms, measured));
  const auto found = model(kRagged), expected = truth(kRagged);
  ASSERT_EQ(found.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(found[i].layer, expected[i].layer);
    EXPECT_NEAR(found[i].forward, expected[i].forward, 1e-9);
    EXPECT_NEAR(found[i].backward_input, expected[i].backward_input, 1e-9);
    EXPECT_EQ(found[i].backward_weight, 0);
  }
}

}  // namespace
}  // namespace penstock::partition
