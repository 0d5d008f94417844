#include "layers/losses/transducer_step.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/layers/losses/transducer_model.h"

namespace penstock::layers {
namespace {

TransducerOptions network_of(std::int64_t context) {
  TransducerOptions options = small_transducer({0, 1, 3});
  if (context > 0) options.prediction.kind = PredictionKind::stateless;
  if (context > 0) options.prediction.context = context;
  return options;
}

// States branch: a text goes on from one that another text has gone on from as well.
TEST(TransducerStep, HasTheLogitsOfWholeTexts) {
  for (const std::int64_t context : {0, 1, 2}) {
    const TransducerOptions options = network_of(context);
    const Model model(options, 11, 1.5);
    const TransducerStep step(options, model.params());
    const WholeTextNetworks whole(model);
    const std::vector<float> x = random_frames(1, options.joint, 9);
    const auto start = step.start(), one = step.read(*start, 4), other = step.read(*start, 2),
               longer = step.read(*one, 3);
    const TransducerStep::State* states[] = {start.get(), one.get(), other.get(), longer.get()};
    const std::vector<float> logits = step.logits(states, x);
    const std::vector<Text> texts = {{0}, {0, 4}, {0, 2}, {0, 4, 3}};
    ASSERT_EQ(step.outputs(), 5 + 3);
    ASSERT_EQ(logits.size(), texts.size() * 8);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::vector<double> expected = whole.logits(x, texts[i]);
      for (std::size_t k = 0; k < 8; ++k)
        EXPECT_NEAR(logits[8 * i + k], expected[k], 1e-5) << context << " " << i;
    }
  }
}

TEST(TransducerStep, AdvancesByDurationsAndPastBlanks) {
  const TransducerOptions rnnt = small_transducer(), tdt = network_of(0);
  const Model of_rnnt(rnnt), of_tdt(tdt);
  const TransducerStep plain(rnnt, of_rnnt.params()), timed(tdt, of_tdt.params());
  EXPECT_EQ(plain.advance(0, 0), 1);
  EXPECT_EQ(plain.advance(3, 0), 0);
  EXPECT_EQ(timed.advance(0, 0), 1);
  EXPECT_EQ(timed.advance(3, 0), 0);
  EXPECT_EQ(timed.advance(0, 2), 3);
  EXPECT_EQ(timed.advance(3, 2), 3);
}

TEST(TransducerStep, CountsWholeFrames) {
  const TransducerOptions options = small_transducer();
  const Model model(options);
  const TransducerStep step(options, model.params());
  EXPECT_EQ(step.frames(std::vector<float>(18)), 3u);
  EXPECT_EQ(step.frames({}), 0u);
  EXPECT_THROW((void)step.frames(std::vector<float>(17)), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
