#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "tests/layers/cpu/transducer/transducer_run.h"

namespace penstock::layers {
namespace {

using test::relative_error;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Every path through the lattice of one utterance, one after the other: the loss by its
/// definition.
class AllPaths {
 public:
  AllPaths(const std::vector<double>& scores, std::int64_t frames, std::int64_t labels,
           const std::vector<std::int32_t>& durations)
      : scores_(scores),
        frames_(frames),
        labels_(labels),
        durations_(durations),
        occupancies(scores.size()) {
    if (frames > 0) visit(0, 0, 0);
    for (double& share : occupancies) share /= total;
  }

 private:
  struct Arc {
    std::int64_t cell, token, duration;  // duration: -1 for an RNN-T
  };

  void take(Arc arc, std::int64_t t, std::int64_t u, double log_p) {
    const std::int64_t width = 2 + static_cast<std::int64_t>(durations_.size());
    log_p += scores_[arc.cell * width + arc.token];
    if (arc.duration >= 0) log_p += scores_[arc.cell * width + 2 + arc.duration];
    path_.push_back(arc);
    if (t < frames_) {
      visit(t, u, log_p);
    } else {
      total += std::exp(log_p);
      for (const Arc& passed : path_) {
        occupancies[passed.cell * width + passed.token] += std::exp(log_p);
        if (passed.duration >= 0)
          occupancies[passed.cell * width + 2 + passed.duration] += std::exp(log_p);
      }
    }
    path_.pop_back();
  }

  void visit(std::int64_t t, std::int64_t u, double log_p) {
    const std::int64_t cell = t * (labels_ + 1) + u;
    if (durations_.empty()) {
      if (t + 1 < frames_ || u == labels_) take({cell, 0, -1}, t + 1, u, log_p);
      if (u < labels_) take({cell, 1, -1}, t, u + 1, log_p);
    }
    for (std::size_t i = 0; i < durations_.size(); ++i) {
      const std::int64_t after = t + durations_[i], duration = static_cast<std::int64_t>(i);
      if (durations_[i] > 0 && (after < frames_ || (after == frames_ && u == labels_)))
        take({cell, 0, duration}, after, u, log_p);
      if (u < labels_ && after < frames_) take({cell, 1, duration}, after, u + 1, log_p);
    }
  }

  const std::vector<double>& scores_;
  std::int64_t frames_, labels_;
  const std::vector<std::int32_t>& durations_;
  std::vector<Arc> path_;

 public:
  double total = 0;
  std::vector<double> occupancies;
};

/// Scores as TransducerScores writes them: the last label of a row is never taken.
std::vector<double> random_scores(const TransducerRun& run, std::uint64_t seed) {
  const auto width = static_cast<std::int64_t>(2 + run.durations.size());
  std::vector<double> scores = test::uniform(run.cells() * width, seed, -3, 0);
  std::int64_t cell = 0;
  for (std::size_t u = 0; u < run.lengths.size(); ++u)
    for (std::int64_t c = 0; c < run.lengths[u] * run.row(u); ++c, ++cell)
      if (c % run.row(u) == run.row(u) - 1) scores[cell * width + 1] = kNever;
  return scores;
}

Tensor tensor_of(std::vector<double>& numbers, std::size_t width) {
  return {numbers.data(),
          DType::f64,
          {static_cast<std::int64_t>(numbers.size() / width), static_cast<std::int64_t>(width)}};
}

struct Durations : testing::TestWithParam<std::vector<std::int32_t>> {};

TEST_P(Durations, LossAndOccupanciesAreSumsOverAllPaths) {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 0}, {5, 0}, {1, 2},
                                                         {2, 3}, {4, 2}, {6, 3}};
  for (const auto& [frames, labels] : sizes) {
    SCOPED_TRACE(std::to_string(frames) + " frames, " + std::to_string(labels) + " labels");
    TransducerRun run{.lengths = {frames},
                      .labels = {std::vector<std::int32_t>(static_cast<std::size_t>(labels), 1)},
                      .durations = GetParam()};
    std::vector<double> scores = random_scores(run, 7);
    const AllPaths paths(scores, frames, labels, GetParam());
    run.run_lattice(tensor_of(scores, 2 + GetParam().size()));
    if (paths.total == 0) {
      EXPECT_EQ(run.losses[0], 0);
      EXPECT_EQ(scores, std::vector<double>(scores.size()));
    } else {
      EXPECT_NEAR(run.losses[0], -std::log(paths.total), 1e-12);
      EXPECT_LE(relative_error(scores, paths.occupancies), 1e-12);
    }
  }
}

TEST_P(Durations, NeighboursWeightsAndScaleAreKeptApart) {
  const std::vector<std::int64_t> lengths = {7, 1, 0, 13, 5};
  const std::vector<std::vector<std::int32_t>> labels = {{1, 2, 1}, {}, {1}, {3, 3, 1, 2, 1}, {}};
  TransducerRun all{.lengths = lengths, .labels = labels, .durations = GetParam()};
  all.scale = 0.25;
  all.weights = {1, 0.5f, 1, 0.5f, 0};
  const std::size_t width = 2 + GetParam().size();
  std::vector<double> together = random_scores(all, 5);
  const std::vector<double> scores = together;
  all.run_lattice(tensor_of(together, width));
  std::size_t first = 0;
  for (std::size_t u = 0; u < lengths.size(); ++u) {
    TransducerRun one{.lengths = {lengths[u]}, .labels = {labels[u]}, .durations = GetParam()};
    const std::size_t count = static_cast<std::size_t>(one.cells()) * width;
    std::vector<double> alone(scores.begin() + first, scores.begin() + first + count);
    one.run_lattice(tensor_of(alone, width));
    EXPECT_EQ(all.losses[u], one.losses[0] * all.weights[u]) << u;
    for (std::size_t i = 0; i < count; ++i)
      EXPECT_EQ(together[first + i], alone[i] * all.weights[u] * 0.25) << u << ": " << i;
    first += count;
  }
}

TEST_P(Durations, EvaluationLeavesTheScores) {
  TransducerRun run{.lengths = {7}, .labels = {{1, 2, 1}}, .durations = GetParam()};
  std::vector<double> scores = random_scores(run, 3);
  const std::vector<double> before = scores;
  run.run_lattice(tensor_of(scores, 2 + GetParam().size()), false);
  EXPECT_EQ(scores, before);
  const std::vector<double> losses = run.losses;
  run.run_lattice(tensor_of(scores, 2 + GetParam().size()));
  EXPECT_EQ(run.losses, losses);
}

INSTANTIATE_TEST_SUITE_P(Of, Durations,
                         testing::Values(std::vector<std::int32_t>{},
                                         std::vector<std::int32_t>{0, 1, 2, 3, 4},
                                         std::vector<std::int32_t>{0, 1},
                                         std::vector<std::int32_t>{2, 3}),
                         [](const auto& info) {
                           std::string name = info.param.empty() ? "rnnt" : "tdt";
                           for (const std::int32_t d : info.param) name += std::to_string(d);
                           return name;
                         });

// FP32 scores of 600 frames and 150 labels: the loss is about 600, its sums FP64.
TEST(TransducerLatticeTest, StaysExactOverLongUtterances) {
  std::vector<double> wide;
  TransducerRun run{.lengths = {600}, .labels = {std::vector<std::int32_t>(150, 1)}};
  wide = random_scores(run, 9);
  std::vector<float> narrow(wide.begin(), wide.end());
  wide.assign(narrow.begin(), narrow.end());
  run.run_lattice(tensor_of(wide, 2));
  const double loss = run.losses[0];
  run.run_lattice({narrow.data(), DType::f32, {600 * 151, 2}});
  EXPECT_EQ(run.losses[0], loss);
  EXPECT_LE(relative_error(std::vector<double>(narrow.begin(), narrow.end()), wide), 1e-7);
  double blanks = 0, labels = 0;  // every path has one of each
  for (std::size_t i = 0; i < wide.size(); i += 2) blanks += wide[i], labels += wide[i + 1];
  EXPECT_NEAR(blanks, 600, 1e-7);
  EXPECT_NEAR(labels, 150, 1e-7);
}

TEST(TransducerLatticeTest, KeepsNaN) {
  TransducerRun run{.lengths = {3}, .labels = {{1}}};
  std::vector<double> scores = random_scores(run, 3);
  scores[4] = NAN;  // the blank of (1, 0)
  run.run_lattice(tensor_of(scores, 2));
  EXPECT_TRUE(std::isnan(run.losses[0]));
}

TEST(TransducerLatticeTest, RefusesWhatDoesNotFit) {
  const auto run_of = [](std::vector<std::int32_t> durations, std::int64_t cells) {
    TransducerRun run{.lengths = {3}, .labels = {{1}}, .durations = std::move(durations)};
    std::vector<double> scores(static_cast<std::size_t>(cells) * (2 + run.durations.size()));
    run.run_lattice(tensor_of(scores, 2 + run.durations.size()));
  };
  EXPECT_NO_THROW(run_of({}, 6));
  EXPECT_NO_THROW(run_of({1, 3}, 6));
  EXPECT_THROW(run_of({}, 5), ShapeError);
  EXPECT_THROW(run_of({0}, 6), ShapeError);
  EXPECT_THROW(run_of({-1, 1}, 6), ShapeError);
  EXPECT_THROW(run_of({1, 1}, 6), ShapeError);
  std::vector<std::int32_t> many;
  for (int d = 0; d <= kMaxDurations; ++d) many.push_back(d);
  EXPECT_THROW(run_of(many, 6), ShapeError);

  TransducerRun fewer{.lengths = {3}, .labels = {{1}, {2}}};
  std::vector<double> scores(12);
  EXPECT_THROW(fewer.run_lattice(tensor_of(scores, 2)), ShapeError);
}

TEST(TransducerTargets, RefuseLabelsThatAreNoTokens) {
  const std::vector<std::int64_t> lengths = {3};
  const std::vector<std::int32_t> counts = {2};
  const std::vector<float> weights = {1};
  std::vector<double> losses(1);
  for (const auto& [label, fits] : {std::pair{0, false}, {1, true}, {4, true}, {5, false}}) {
    const std::vector<std::int32_t> labels = {1, label};
    const Targets targets{labels, counts, weights, 1, losses};
    if (fits)
      EXPECT_NO_THROW(expect_transducer_targets(targets, lengths, 5)) << label;
    else
      EXPECT_THROW(expect_transducer_targets(targets, lengths, 5), ShapeError) << label;
  }
}

}  // namespace
}  // namespace penstock::layers
