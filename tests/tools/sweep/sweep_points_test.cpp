#include "tools/sweep/sweep_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

std::vector<SweepAxis> axes_of(const std::vector<std::string>& words) {
  std::vector<SweepAxis> axes;
  for (const std::string& word : words) axes.push_back(*parse_axis(word));
  return axes;
}

TEST(GridPoints, AreAllCombinations) {
  EXPECT_EQ(grid_points(axes_of({"a.a=1,2", "b.b=x,y,z"})),
            (std::vector<SweepPoint>{
                {"1", "x"}, {"1", "y"}, {"1", "z"}, {"2", "x"}, {"2", "y"}, {"2", "z"}}));
}

TEST(GridPoints, RefuseRangesAndTooMany) {
  EXPECT_EQ(test::message_of<ConfigError>([] { (void)grid_points(axes_of({"a.a=1..5"})); }),
            "a.a=1..5 is a range, of which a grid has no points: add --runs N for a random search, "
            "or list values, such as a.a=1,2,3");
  const std::string ten = "=0,1,2,3,4,5,6,7,8,9";
  EXPECT_EQ(grid_points(axes_of({"a.a" + ten, "a.b" + ten, "a.c" + ten, "a.d" + ten})).size(),
            10000u);
  EXPECT_THROW(
      (void)grid_points(axes_of({"a.a" + ten, "a.b" + ten, "a.c" + ten, "a.d" + ten, "a.e=1,2"})),
      ConfigError);
}

TEST(RandomPoints, MoreRunsBeginWithTheSame) {
  for (const auto& axes :
       {axes_of({"a.a=1e-5..1@log", "a.b=1,2"}), axes_of({"a.a=1,2,3,4,5,6,7"})}) {
    const auto few = random_points(axes, 3, 5), many = random_points(axes, 7, 5);
    EXPECT_TRUE(std::ranges::equal(few, std::span(many).first(3)));
    EXPECT_NE(random_points(axes, 7, 6), many) << "another seed";
  }
}

// A further key leaves the values of the others as they are.
TEST(RandomPoints, ValuesDependOnTheirKeyAlone) {
  const auto one = random_points(axes_of({"a.a=0.0..1"}), 5, 1);
  const auto two = random_points(axes_of({"b.b=0.0..1", "a.a=0.0..1"}), 5, 1);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(one[i][0], two[i][1]);
    EXPECT_NE(two[i][0], two[i][1]);
  }
}

TEST(RandomPoints, ListsGiveEachCombinationOnce) {
  const auto axes = axes_of({"a.a=1,2,3", "b.b=x,y,z"});
  const auto points = random_points(axes, 9, 1);
  EXPECT_EQ(std::set<SweepPoint>(points.begin(), points.end()).size(), 9u);
  EXPECT_NE(points, grid_points(axes)) << "not shuffled";
  EXPECT_EQ(test::message_of<ConfigError>([&] { (void)random_points(axes, 10, 1); }),
            "--runs 10: the lists have 9 combinations: ask for as many, or leave --runs out");
}

// The median of a logarithmic range is the geometric mean of its ends, 1e-3. Of 2,000 draws, the
// share below it lies within 4 standard deviations of a half: 0.5 ± 4 × sqrt(0.25 / 2000).
TEST(RandomPoints, LogarithmicRangesHaveEqualRatios) {
  int below = 0;
  for (const SweepPoint& point : random_points(axes_of({"a.a=1e-5..1e-1@log"}), 2000, 1)) {
    const double value = std::stod(point[0]);
    EXPECT_GE(value, 1e-5);
    EXPECT_LE(value, 1e-1);
    below += value < 1e-3;
  }
  EXPECT_NEAR(below / 2000.0, 0.5, 4 * std::sqrt(0.25 / 2000));
}

// Each of 5 numbers has a share of 0.2 on a linear range. On a logarithmic one from 1 to 4, 1 has
// log(1.5 / 0.5) / log(4.5 / 0.5), a half.
TEST(RandomPoints, WholeNumbersReachBothEnds) {
  std::map<std::string, int> counts;
  for (const auto& point : random_points(axes_of({"a.a=-2..2"}), 2000, 1)) ++counts[point[0]];
  EXPECT_EQ(counts.size(), 5u);
  for (const auto& [value, count] : counts)
    EXPECT_NEAR(count / 2000.0, 0.2, 4 * std::sqrt(0.2 * 0.8 / 2000)) << value;
  counts.clear();
  for (const auto& point : random_points(axes_of({"a.a=1..4@log"}), 2000, 1)) ++counts[point[0]];
  EXPECT_EQ(counts.size(), 4u);
  EXPECT_NEAR(counts["1"] / 2000.0, 0.5, 4 * std::sqrt(0.25 / 2000));
}

TEST(RandomPoints, NumbersAreShort) {
  for (const auto& point :
       random_points(axes_of({"a.a=1e-5..1e-1@log", "a.b=1000.0..1001"}), 50, 1)) {
    const std::string digits = point[0].substr(0, point[0].find('e'));
    EXPECT_LE(std::ranges::count_if(digits.substr(digits.find_first_not_of("0.")),
                                    [](char c) { return c >= '0' && c <= '9'; }),
              4)
        << point[0];
    EXPECT_LE(point[1].size(), 7u) << point[1];
  }
}

// Golden values: points must stay what they were, for sweeps that resume.
TEST(RandomPoints, StayWhatTheyWere) {
  EXPECT_EQ(random_points(axes_of({"optimizer.learning_rate=1e-4..1e-2@log", "model.layers=1..5",
                                   "optimizer.kind=sgd,adamw"}),
                          3, 1),
            (std::vector<SweepPoint>{
                {"0.001853", "4", "adamw"}, {"0.002068", "5", "sgd"}, {"0.001187", "2", "adamw"}}));
}

// Six digits would leave one number of this range.
TEST(RandomPoints, NarrowRangesKeepTheirNumbers) {
  for (const char* word :
       {"a.a=1000000.2..1000000.9", "a.a=1000000.2..1000000.9@log", "a.a=-1000000.9..-1000000.2"}) {
    const SweepAxis axis = *parse_axis(word);
    std::set<std::string> values;
    for (const SweepPoint& point : random_points(std::vector{axis}, 30, 1)) {
      values.insert(point[0]);
      EXPECT_GE(std::stod(point[0]), axis.low);
      EXPECT_LE(std::stod(point[0]), axis.high);
    }
    EXPECT_GT(values.size(), 20u) << word;
  }
}

}  // namespace
}  // namespace penstock::tools
