#include "tools/sweep/parallel_axes.h"

#include <gtest/gtest.h>

#include <regex>

namespace penstock::tools {
namespace {

SweepOutcome outcome_of(const std::vector<std::string>& words, std::vector<SweepPoint> points,
                        const std::vector<double>& rates) {
  SweepOutcome outcome{.folder = "outputs/sweep"};
  for (const std::string& word : words) outcome.plan.axes.push_back(*parse_axis(word));
  outcome.plan.points = std::move(points);
  for (std::size_t i = 0; i < rates.size(); ++i)
    outcome.runs.push_back({i + 1, "run", {RunState::done, 5, rates[i], 5}});
  return outcome;
}

std::size_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

TEST(ParallelAxes, WordsHaveEqualDistances) {
  const auto axes = parallel_axes(outcome_of({"optimizer.kind=sgd,adamw,lamb"}, {{"lamb"}}, {0.5}));
  ASSERT_EQ(axes.size(), 2u);
  EXPECT_EQ(axes[0].section, "optimizer");
  EXPECT_EQ(axes[0].name, "kind");
  EXPECT_EQ(axes[0].place("sgd"), 0);
  EXPECT_EQ(axes[0].place("adamw"), 0.5);
  EXPECT_EQ(axes[0].place("lamb"), 1);
}

TEST(ParallelAxes, ListedNumbersAscend) {
  const auto axes = parallel_axes(outcome_of({"model.hidden=160,8,32"}, {{"8"}}, {0.5}));
  EXPECT_EQ(axes[0].marks(), (std::vector<Tick>{{0, "8"}, {0.5, "32"}, {1, "160"}}));
}

TEST(ParallelAxes, RangesHaveTheScaleOfTheirDraws) {
  const auto axes =
      parallel_axes(outcome_of({"optimizer.learning_rate=1e-4..1e-2@log", "model.dropout=0.0..1"},
                               {{"1e-3", "0.25"}}, {0.5}));
  EXPECT_NEAR(axes[0].place("1e-3"), 0.5, 1e-12);
  EXPECT_NEAR(axes[1].place("0.25"), 0.25, 1e-12);
  EXPECT_EQ(axes[0].place("1e-4"), 0);
  EXPECT_EQ(axes[0].place("1e-2"), 1);
}

TEST(ParallelAxes, TheMetricIsLastInPercent) {
  const auto axes = parallel_axes(outcome_of({"trainer.seed=1,2"}, {{"1"}, {"2"}}, {0.2, 0.4}));
  EXPECT_EQ(axes[1].name, "WER");
  EXPECT_EQ(axes[1].place("20"), 0);
  EXPECT_EQ(axes[1].place("40"), 1);
}

TEST(ParallelAxesHtml, HasALineForEachMeasuredRun) {
  SweepOutcome outcome = outcome_of({"trainer.seed=1,2,3"}, {{"1"}, {"2"}, {"3"}}, {0.3, 0.2, 0.4});
  outcome.runs[2].result.best.reset();
  outcome.runs[0].result.state = RunState::paused;
  const std::string html = parallel_axes_html(outcome);
  EXPECT_EQ(count(html, "<g class=\"run [a-z ]*\" data-run"), 2u);
  EXPECT_NE(html.find("<g class=\"run best\" data-run=\"1\">"), std::string::npos);
  EXPECT_NE(html.find("<g class=\"run rest dashed\" data-run=\"0\">"), std::string::npos);
  EXPECT_LT(html.find("data-run=\"0\""), html.find("data-run=\"1\"")) << "the best lies above";
  outcome.runs[0].result.best.reset();
  outcome.runs[1].result.best.reset();
  EXPECT_EQ(parallel_axes_html(outcome), "");
}

TEST(ParallelAxesHtml, ValuesAreTexts) {
  const std::string html = parallel_axes_html(
      outcome_of({"text.alphabet=<b>&,{{data}}"}, {{"<b>&"}, {"{{data}}"}}, {0.3, 0.2}));
  EXPECT_EQ(html.find("<b>"), std::string::npos);
  EXPECT_EQ(html.find("{{"), std::string::npos);
  EXPECT_NE(html.find("&lt;b&gt;"), std::string::npos);
}

TEST(ParallelAxesHtml, AFailedRunIsNotTheBest) {
  SweepOutcome outcome = outcome_of({"trainer.seed=1,2"}, {{"1"}, {"2"}}, {0.3, 0.2});
  EXPECT_NE(parallel_axes_html(outcome).find("best run"), std::string::npos);
  for (SweptRun& run : outcome.runs) run.result.state = RunState::failed;
  const std::string html = parallel_axes_html(outcome);
  EXPECT_EQ(count(html, "<g class=\"run rest dashed\" data-run"), 2u);
  EXPECT_EQ(html.find("best"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
