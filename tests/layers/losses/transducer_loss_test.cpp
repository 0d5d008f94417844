#include "layers/losses/transducer_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "layers/losses/transducer_beam.h"
#include "layers/losses/transducer_greedy.h"

namespace penstock::layers {
namespace {

Loss small_loss(std::vector<std::int32_t> durations = {}) {
  return transducer_loss(
      {.joint = 5, .durations = std::move(durations), .prediction = {.embedding = 3, .hidden = 4}});
}

std::vector<HostParameter> random_parameters(const Loss& loss, int classes) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<HostParameter> parameters;
  std::vector<std::unique_ptr<Layer>> layers;
  loss.add_layers(layers, classes);
  const auto plan = layers.back()->plan({DType::f32, {{{1}, loss.channels(classes)}}}, {});
  for (const ParamDecl& decl : plan.params) {
    HostParameter& p = parameters.emplace_back(HostParameter{decl.shape, {}});
    p.values.resize(static_cast<std::size_t>(element_count(decl.shape)));
    std::ranges::generate(p.values, [&] { return normal(random); });
  }
  return parameters;
}

TEST(TransducerLoss, TakesTheChannelsOfItsJoint) { EXPECT_EQ(small_loss().channels(9), 5); }

TEST(TransducerLoss, DecodesWithParametersOfItsOwn) {
  const Loss loss = small_loss();
  std::vector<HostParameter> parameters = random_parameters(loss, 9);
  const Decoder decoder = loss.make_decoder(parameters, {});
  for (HostParameter& p : parameters) std::ranges::fill(p.values, 0.0f);  // it has copies
  std::vector<float> frames(7 * 5);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = static_cast<float>(i % 11) - 5;
  const std::vector<std::int32_t> all = decoder(frames, 5, 9).front().labels;
  ASSERT_FALSE(all.empty());
  EXPECT_GT(std::ranges::max(all), 4);
  std::vector<std::int32_t> first;
  std::ranges::copy_if(all, std::back_inserter(first),
                       [](std::int32_t label) { return label < 5; });
  EXPECT_EQ(decoder(frames, 5, 5).front().labels,
            first);  // other classes are no labels of the text
  EXPECT_THROW((void)decoder(frames, 5, 10), ShapeError);
}

TEST(TransducerLoss, DecodesWithTheBeamThatIsAsked) {
  const Loss loss = small_loss({0, 1, 2});
  ASSERT_TRUE(loss.beam_search);
  std::vector<HostParameter> parameters = random_parameters(loss, 9);
  std::vector<float> frames(23 * 5);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = static_cast<float>(i * i % 11) - 5;
  TransducerOptions options = {.classes = 9,
                               .joint = 5,
                               .durations = {0, 1, 2},
                               .prediction = {.embedding = 3, .hidden = 4}};
  std::vector<Tensor> views;
  for (HostParameter& p : parameters) views.push_back({p.values.data(), DType::f32, p.shape});
  const auto expected = TransducerBeam(options, views, {.beam = 6}).hypotheses(frames);
  ASSERT_GT(expected.size(), 1u);
  EXPECT_EQ(loss.make_decoder(parameters, {.beam = 6})(frames, 5, 9), expected);
  EXPECT_EQ(loss.make_decoder(parameters, {})(frames, 5, 9),
            (std::vector<Hypothesis>{{TransducerGreedy(options, views).labels(frames)}}));
  EXPECT_NE(expected.front().labels, TransducerGreedy(options, views).labels(frames));
  EXPECT_THROW((void)loss.make_decoder(parameters, {.beam = 0}), ConfigError);
}

}  // namespace
}  // namespace penstock::layers
