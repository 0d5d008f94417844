#include "runtime/decoding/ctc_alignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "base/error.h"
#include "tests/support/layers/golden.h"

namespace penstock::runtime {
namespace {

using Labels = std::vector<std::int32_t>;

std::vector<float> random_logits(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> logits(count);
  for (float& x : logits) x = static_cast<float>(random() % 4001) / 1000 - 2;
  return logits;
}

/// Returns what CTC's rule makes of a path.
Labels text_on(const Labels& path) {
  Labels text;
  for (std::size_t f = 0; f < path.size(); ++f)
    if (path[f] != 0 && (f == 0 || path[f] != path[f - 1])) text.push_back(path[f]);
  return text;
}

/// Returns the label of each frame.
Labels labels_on(const CtcPath& path, const Labels& text) {
  Labels labels;
  for (const std::int64_t place : path.places)
    labels.push_back(place < 0 ? 0 : text[static_cast<std::size_t>(place)]);
  return labels;
}

double score(const CtcPath& path) {
  double sum = 0;
  for (const double p : path.probabilities) sum += std::log(p);
  return sum;
}

/// Returns the log-probability of the likeliest path of every text, from all paths one by one.
std::map<Labels, double> best_of_all_paths(const std::vector<float>& logits, std::int32_t classes) {
  const std::size_t frames = logits.size() / static_cast<std::size_t>(classes);
  std::map<Labels, double> best;
  for (Labels path(frames);;) {
    double sum = 0;
    for (std::size_t f = 0; f < frames; ++f) {
      const float* row = logits.data() + f * static_cast<std::size_t>(classes);
      double all = 0;
      for (std::int32_t c = 0; c < classes; ++c) all += std::exp(double{row[c]});
      sum += row[path[f]] - std::log(all);
    }
    const auto [at, fresh] = best.try_emplace(text_on(path), sum);
    at->second = std::max(at->second, sum);
    std::size_t f = 0;
    while (f < frames && ++path[f] == classes) path[f++] = 0;
    if (f == frames) return best;
  }
}

TEST(CtcAlignment, IsTheLikeliestOfAllPaths) {
  std::size_t compared = 0;
  for (const std::size_t frames : {1, 2, 3, 5, 6})
    for (const std::int32_t classes : {2, 3, 4}) {
      const auto logits = random_logits(frames * static_cast<std::size_t>(classes), 7);
      for (const auto& [text, best] : best_of_all_paths(logits, classes)) {
        for (const std::size_t block : {0, 2}) {
          const CtcPath path = align_ctc(logits, classes, text, block);
          EXPECT_EQ(text_on(labels_on(path, text)), text);
          EXPECT_NEAR(score(path), best, 1e-12) << fmt::format("{} frames: {}", frames, text);
        }
        ++compared;
      }
    }
  EXPECT_GT(compared, 500u);
}

// The path of one block is compared with all paths above. Texts are few, as in speech, and as many
// as the frames can have.
TEST(CtcAlignment, BlocksChangeNoPath) {
  std::mt19937 random(3);
  for (const std::size_t frames : {1, 2, 7, 40, 61})
    for (const std::size_t count : {std::size_t{0}, frames / 3, frames})
      for (const std::int32_t classes : {3, 5}) {
        const auto logits = random_logits(frames * static_cast<std::size_t>(classes), 11);
        Labels text;
        for (std::size_t i = 0; i < count; ++i) {
          std::int32_t label = 1;
          do label = 1 + static_cast<std::int32_t>(random() % (classes - 1u));
          while (count == frames && !text.empty() && label == text.back());
          text.push_back(label);
        }
        const CtcPath whole = align_ctc(logits, classes, text, frames);
        ASSERT_EQ(text_on(labels_on(whole, text)), text);
        for (const std::size_t block : {1, 2, 3, 5, 8, 39, 60, 100}) {
          const CtcPath path = align_ctc(logits, classes, text, block);
          EXPECT_EQ(path.places, whole.places) << frames << " frames, " << count << ", " << block;
          EXPECT_EQ(path.probabilities, whole.probabilities);
        }
      }
}

TEST(CtcAlignment, BlocksChangeNoTie) {
  const std::vector<float> alike(3 * 30);
  const Labels text = {1, 2, 2, 1, 1};
  for (const std::size_t block : {1, 4, 7, 29})
    EXPECT_EQ(align_ctc(alike, 3, text, block).places, align_ctc(alike, 3, text).places);
}

TEST(CtcAlignment, EqualsTorchaudio) {
  const test::Golden golden("forced_align");
  const auto lengths = golden.integers("lengths"), counts = golden.integers("label_counts"),
             paths = golden.integers("paths");
  const std::vector<double>&logits = golden["logits"], &scores = golden["scores"];
  const std::int64_t classes = golden.shape("logits").at(1);
  const auto labels = golden.integers("labels");
  std::size_t frame = 0, first = 0;
  for (std::size_t u = 0; u < lengths.size(); ++u) {
    const Labels text(labels.begin() + static_cast<std::ptrdiff_t>(first),
                      labels.begin() + static_cast<std::ptrdiff_t>(first) + counts[u]);
    first += text.size();
    const auto at = static_cast<std::ptrdiff_t>(frame) * classes;
    const std::vector<float> rows(logits.begin() + at, logits.begin() + at + lengths[u] * classes);
    const CtcPath path = align_ctc(rows, classes, text);
    const Labels found = labels_on(path, text);
    for (std::size_t f = 0; f < found.size(); ++f, ++frame) {
      EXPECT_EQ(found[f], paths[frame]) << "frame " << frame;
      EXPECT_NEAR(std::log(path.probabilities[f]), scores[frame], 1e-6) << "frame " << frame;
    }
  }
  EXPECT_EQ(frame, scores.size());
}

TEST(CtcAlignment, TakesFramesWithoutNumbers) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const CtcPath path = align_ctc(std::vector<float>{0, 9, kNone, kNone, 0, 9}, 2, Labels{1, 1});
  EXPECT_EQ(path.places, (std::vector<std::int64_t>{0, -1, 1}));
  EXPECT_EQ(path.probabilities[1], 0.5);
  EXPECT_TRUE(align_ctc({}, 2, {}).places.empty());
}

TEST(CtcAlignment, RefusesWhatHasNoPath) {
  const auto said = [](const std::vector<float>& logits, const Labels& labels) -> std::string {
    try {
      (void)align_ctc(logits, 3, labels);
    } catch (const DataError& error) {
      return error.what();
    }
    return {};
  };
  const auto logits = random_logits(9, 3);
  EXPECT_EQ(said(logits, {1, 2, 1}), "");
  EXPECT_NE(said(logits, {1, 1, 2}).find("needs 4 frames, but the model makes 3"),
            std::string::npos);
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  EXPECT_NE(said({0, kNever, 0}, {1}).find("no probability"), std::string::npos);
  EXPECT_THROW((void)align_ctc(logits, 3, Labels{3}), ShapeError);
  EXPECT_THROW((void)align_ctc(logits, 3, Labels{0}), ShapeError);
  EXPECT_THROW((void)align_ctc(logits, 4, Labels{1}), ShapeError);
}

}  // namespace
}  // namespace penstock::runtime
