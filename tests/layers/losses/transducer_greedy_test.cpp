#include "layers/losses/transducer_greedy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "tests/layers/losses/labels.h"
#include "tests/layers/losses/transducer_model.h"

namespace penstock::layers {
namespace {

using test::Golden;

struct GreedyGolden : testing::TestWithParam<const char*> {};

TEST_P(GreedyGolden, WritesWhatTransformersGenerates) {
  const Golden golden("transducer_greedy_" + std::string(GetParam()));
  TransducerOptions options{.name = "", .classes = 7, .joint = 12};
  options.prediction = {.embedding = 12, .layers = 2, .hidden = 12};
  if (GetParam() == std::string("tdt")) options.durations = {0, 1, 2, 3, 4};
  Model model(options);
  model.copy_from(golden);
  const TransducerGreedy greedy(options, model.params());
  const std::vector<std::vector<std::int32_t>> texts = labels_of(golden);
  std::vector<float> x(golden["x"].begin(), golden["x"].end());
  std::size_t first = 0;
  for (std::size_t u = 0; u < texts.size(); ++u) {
    const auto count = static_cast<std::size_t>(golden.integers("lengths")[u] * options.joint);
    EXPECT_EQ(greedy.labels(std::span(x).subspan(first, count)), texts[u]) << u;
    first += count;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GreedyGolden, testing::Values("rnnt", "tdt"),
                         [](const auto& info) { return std::string(info.param); });

/// Decodes by the definition: before each step the layer's own prediction network reads the whole
/// text so far.
Text decode(const WholeTextNetworks& networks, std::span<const float> x) {
  Text ids = {0};
  int stays = 0;
  const TransducerOptions& options = networks.options();
  const auto width = static_cast<std::size_t>(options.joint);
  for (std::size_t t = 0; t < x.size() / width;) {
    const std::vector<double> logits = networks.logits(x.subspan(t * width, width), ids);
    const auto tokens = logits.begin() + options.classes;
    const auto token = std::max_element(logits.begin(), tokens) - logits.begin();
    const auto place = std::max_element(tokens, logits.end()) - tokens;
    std::int32_t step = options.durations.empty() ? (token == 0) : options.durations[place];
    if (token == 0) step = std::max(step, 1);
    if (token > 0) ids.push_back(static_cast<std::int32_t>(token));
    stays = step > 0 ? 0 : stays + 1;
    if (stays == 10) step = 1;
    if (stays == 10) stays = 0;
    t += static_cast<std::size_t>(step);
  }
  return {ids.begin() + 1, ids.end()};
}

TEST(TransducerGreedy, WritesWhatWholeTextsPredict) {
  for (const std::vector<std::int32_t>& durations :
       {std::vector<std::int32_t>{}, {0, 1, 3}, {1, 2}})
    for (const std::int64_t context : {0, 1, 2})
      for (const JointNonlinearity kind : {JointNonlinearity::relu, JointNonlinearity::tanh}) {
        TransducerOptions options = small_transducer(durations);
        options.nonlinearity = kind;
        if (context > 0) options.prediction.kind = PredictionKind::stateless;
        if (context > 0) options.prediction.context = context;
        Model model(options, 11, 1.5);
        const std::vector<float> x = random_frames(23, options.joint, 9);
        const Text text = TransducerGreedy(options, model.params()).labels(x);
        EXPECT_EQ(text, decode(WholeTextNetworks(model), x)) << durations.size() << " " << context;
        EXPECT_FALSE(text.empty());
      }
}

TEST(TransducerGreedy, WritesTenLabelsAtAFrameAtMost) {
  for (const std::vector<std::int32_t>& durations : {std::vector<std::int32_t>{}, {0, 1}}) {
    TransducerOptions options = small_transducer(durations);
    Model model(options);
    model.prefer(3);
    if (!durations.empty()) model.prefer(options.classes);  // duration 0
    EXPECT_EQ(TransducerGreedy(options, model.params()).labels(random_frames(4, 6, 1)),
              Text(40, 3));
  }
}

TEST(TransducerGreedy, BlanksOfDuration0TakeAFrame) {
  TransducerOptions options = small_transducer({0, 2});
  Model model(options);
  model.prefer(0);
  model.prefer(options.classes);
  EXPECT_EQ(TransducerGreedy(options, model.params()).labels(random_frames(4, 6, 1)), Text{});
}

// Labels of duration 3 are written at frames 0, 3 and 6 of 7.
TEST(TransducerGreedy, SkipsAsManyFramesAsTheDuration) {
  TransducerOptions options = small_transducer({0, 1, 3});
  Model model(options);
  model.prefer(2);
  model.prefer(options.classes + 2);
  EXPECT_EQ(TransducerGreedy(options, model.params()).labels(random_frames(7, 6, 1)), Text(3, 2));
  EXPECT_EQ(TransducerGreedy(options, model.params()).labels({}), Text{});
}

TEST(TransducerGreedy, RejectsOtherParametersAndHalfAFrame) {
  const TransducerOptions options = small_transducer();
  Model model(options);
  const TransducerGreedy greedy(options, model.params());
  EXPECT_THROW((void)greedy.labels(std::vector<float>(7)), ShapeError);
  EXPECT_THROW(TransducerGreedy(options, model.params().subspan(1)), ShapeError);
  TransducerOptions wider = options;
  wider.classes = 6;
  EXPECT_THROW(TransducerGreedy(wider, model.params()), ShapeError);
  std::vector<Tensor> doubles(model.params().begin(), model.params().end());
  doubles[0].dtype = DType::f64;
  EXPECT_THROW(TransducerGreedy(options, doubles), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
