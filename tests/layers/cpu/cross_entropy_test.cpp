#include "layers/ops/cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/tensor_views.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {
namespace {

using test::GuardedMemory;
using test::relative_error;

/// Losses of rows of logits, and their gradient with a factor for each row.
struct CrossEntropyRun {
  CrossEntropyRun(DType dtype, std::int64_t classes, std::vector<std::int32_t> targets,
                  double smoothing)
      : dtype(dtype), classes(classes), targets(std::move(targets)), smoothing(smoothing) {
    logits = test::uniform(count() * classes, 7, -6, 6);
    factors = test::uniform(count(), 8, 0.1, 2);
  }

  std::int64_t count() const { return static_cast<std::int64_t>(targets.size()); }

  /// Runs tiles of so many rows.
  void run(std::int64_t tile = 1000) {
    const auto bytes = [](std::int64_t numbers, DType type) {
      return static_cast<std::size_t>(numbers) * size_of(type);
    };
    const DType wide = arithmetic_of(dtype);
    GuardedMemory of_logits(bytes(count() * classes, dtype)), of_factors(bytes(count(), wide)),
        of_losses(bytes(count(), DType::f64));
    const Tensor x{of_logits.data(), dtype, {count(), classes}};
    const Tensor factors_R{of_factors.data(), wide, {count()}},
        losses_R{of_losses.data(), DType::f64, {count()}},
        targets_R{targets.data(), DType::i32, {count()}};
    test::assign(x, logits);
    test::assign(factors_R, factors);
    for (std::int64_t r = 0; r < count(); r += tile) {
      const auto part = [&](const Tensor& of) { return rows(of, r, std::min(tile, count() - r)); };
      backend->run(*stream,
                   CrossEntropyLosses{part(x), part(targets_R), smoothing, part(losses_R)});
      backend->run(*stream, CrossEntropyGradient{part(x), part(targets_R), smoothing,
                                                 part(factors_R), part(x)});
    }
    losses = test::numbers(losses_R);
    gradient = test::numbers(x);
    of_logits.check("the logits");
    of_losses.check("the losses");
  }

  DType dtype;
  std::int64_t classes;
  std::vector<std::int32_t> targets;
  double smoothing;
  std::vector<double> logits, factors, losses, gradient;
  std::shared_ptr<Backend> backend = make_cpu_backend();
  std::shared_ptr<Stream> stream = backend->make_stream();
};

/// The formulas in FP64, class after class.
struct Reference {
  explicit Reference(const CrossEntropyRun& run) {
    const auto v = static_cast<std::size_t>(run.classes);
    const double spread = run.smoothing / static_cast<double>(run.classes);
    for (std::size_t r = 0; r < run.targets.size(); ++r) {
      const auto* const x = run.logits.data() + r * v;
      const auto target = static_cast<std::size_t>(run.targets[r]);
      double sum = 0, all = 0;
      for (std::size_t k = 0; k < v; ++k) sum += std::exp(x[k]);
      for (std::size_t k = 0; k < v; ++k) all += x[k];
      losses.push_back(std::log(sum) - (1 - run.smoothing) * x[target] - spread * all);
      for (std::size_t k = 0; k < v; ++k)
        gradient.push_back(run.factors[r] *
                           (std::exp(x[k]) / sum - spread - (k == target ? 1 - run.smoothing : 0)));
    }
  }
  std::vector<double> losses, gradient;
};

TEST(CrossEntropy, IsThatOfTheFormulas) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const double smoothing : {0.0, 0.1})
      for (const std::int64_t classes : {1, 7, 37, 1031, 65537 + 4}) {
        SCOPED_TRACE(classes);
        CrossEntropyRun run(dtype, classes, {0, static_cast<std::int32_t>(classes - 1)}, smoothing);
        const Reference wanted(run);
        run.run();
        const bool wide = dtype == DType::f64;
        for (std::size_t r = 0; r < 2; ++r)
          EXPECT_NEAR(run.losses[r], wanted.losses[r], wide ? 1e-11 : 1e-6);
        EXPECT_LE(relative_error(run.gradient, wanted.gradient), wide ? 1e-12 : 3e-6);
      }
}

// A lane that adds up all its 19,000 numbers in FP32 is off by 2.8e-4, and by 3e-7 in blocks of
// 128.
TEST(CrossEntropy, OfVeryManyClassesIsExact) {
  CrossEntropyRun run(DType::f32, 152'001, {5}, 0);
  std::fill(run.logits.begin(), run.logits.end(), 0.1f);
  run.logits[9] = 3;
  const Reference wanted(run);
  run.run();
  EXPECT_NEAR(run.losses[0], wanted.losses[0], 1e-6);
}

TEST(CrossEntropy, TilesChangeNoBit) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    CrossEntropyRun whole(dtype, 1043, {1, 0, 1042, 7, 7, 512, 33, 2, 4}, 0.1);
    whole.run();
    for (const std::int64_t tile : {1, 2, 5}) {
      CrossEntropyRun tiled = whole;
      tiled.run(tile);
      EXPECT_EQ(tiled.losses, whole.losses);
      EXPECT_EQ(tiled.gradient, whole.gradient);
    }
  }
}

TEST(CrossEntropy, HalvesAreComputedInFP32) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    CrossEntropyRun halves(dtype, 83, {82, 0, 41}, 0.1), wide(DType::f32, 83, {82, 0, 41}, 0.1);
    std::vector<std::uint16_t> rounded(wide.logits.size());
    const Tensor as_halves{rounded.data(), dtype, {static_cast<std::int64_t>(rounded.size())}};
    test::assign(as_halves, wide.logits);
    wide.logits = test::numbers(as_halves);
    halves.run();
    wide.run();
    EXPECT_EQ(halves.losses, wide.losses);
    test::assign(as_halves, wide.gradient);
    EXPECT_EQ(halves.gradient, test::numbers(as_halves));
  }
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  CrossEntropyRun run(DType::f32, 101, {100, 3}, 0);
  for (double& x : run.logits) x *= 5e3;
  run.run();
  for (const double loss : run.losses) EXPECT_TRUE(std::isfinite(loss));
  for (const double g : run.gradient) EXPECT_LE(std::abs(g), 2.00001);
}

/// Rows of three utterances, of which the second has none.
class CrossEntropySumsTest : public testing::Test {
 protected:
  void run(bool factors = true) {
    const Targets targets{{}, lengths_of_texts_, weights_, 0.25, losses_};
    backend_->run(
        *stream_,
        CrossEntropySums{.losses_R = {rows_.data(), DType::f64, {std::ssize(rows_)}},
                         .lengths = lengths_,
                         .targets = targets,
                         .factors_R = factors ? Tensor{factors_.data(), DType::f32, {5}} : Tensor{},
                         .workspace = {}});
  }

  std::vector<double> rows_ = {0x1p60, -0x1p60, 1, 4, 2}, losses_ = {-1, -1, -1};
  std::vector<std::int64_t> lengths_ = {3, 0, 2};
  std::vector<std::int32_t> lengths_of_texts_ = {0, 0, 0};
  std::vector<float> weights_ = {1, 1, 0.5f}, factors_ = std::vector<float>(5, -1);

 private:
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<Stream> stream_ = backend_->make_stream();
};

// 2^60 - 2^60 + 1 is 1 in the order of rows, and 0 in any other that adds 1 earlier.
TEST_F(CrossEntropySumsTest, AddInTheOrderOfRows) {
  run();
  EXPECT_EQ(losses_, (std::vector<double>{1, 0, 3}));
  EXPECT_EQ(factors_, (std::vector<float>{0.25f, 0.25f, 0.25f, 0.125f, 0.125f}));
}

TEST_F(CrossEntropySumsTest, LeaveFactorsAloneInEvaluation) {
  run(false);
  EXPECT_EQ(losses_, (std::vector<double>{1, 0, 3}));
  EXPECT_EQ(factors_, std::vector<float>(5, -1));
}

TEST_F(CrossEntropySumsTest, RejectWhatDoesNotFit) {
  lengths_ = {3, 0, 3};
  EXPECT_THROW(run(), ShapeError);
  lengths_ = {3, 2};
  EXPECT_THROW(run(), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
