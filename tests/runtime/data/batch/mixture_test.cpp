#include "runtime/data/batch/mixture.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// 300 utterances of 3 s, 70 of 5 s and 11 of 7 s.
std::vector<MixturePart> three(double first = 1, double second = 1, double third = 1) {
  return {{"a", 300, 900, first}, {"b", 70, 350, second}, {"c", 11, 77, third}};
}

TEST(Mixture, OfTemperatureOneDrawsEachOnce) {
  const Mixture mixture(three(), {});
  for (const Mixture::Part& part : mixture.parts()) {
    EXPECT_EQ(part.before(1), part.is.utterances);
    EXPECT_EQ(part.before(1000), 1000 * part.is.utterances);
    EXPECT_EQ(part.repeats(), 1);
    EXPECT_EQ(part.max_repeats(), 1u);
  }
  EXPECT_EQ(mixture.draws(381), 381u);
}

TEST(Mixture, SharesFollowWeightsAndTemperature) {
  for (const double temperature : {0.5, 1.0, 2.0, 5.0, 1000.0}) {
    const auto parts = three(1, 2, 3);
    const Mixture mixture(parts, {temperature});
    double sum = 0, seconds = 0;
    for (const MixturePart& part : parts)
      sum += part.weight * std::pow(part.seconds, 1 / temperature);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double share = parts[i].weight * std::pow(parts[i].seconds, 1 / temperature) / sum;
      const Mixture::Part& part = mixture.parts()[i];
      EXPECT_NEAR(part.share, share, 1e-7);
      const double drawn = part.repeats() * part.is.seconds;
      EXPECT_NEAR(drawn, share * 1327, 1e-3);  // of all seconds
      seconds += drawn;
    }
    EXPECT_NEAR(seconds, 1327, 1e-3);
  }
}

TEST(Mixture, SharesFollowUtterancesIfTold) {
  const Mixture mixture(three(1, 2, 3), {.temperature = 2, .by = ShareBy::utterances});
  const double sum = std::sqrt(300) + 2 * std::sqrt(70) + 3 * std::sqrt(11);
  EXPECT_NEAR(mixture.parts()[1].share, 2 * std::sqrt(70) / sum, 1e-7);
  EXPECT_NEAR(mixture.parts()[1].repeats() * 70, 2 * std::sqrt(70) / sum * 381, 1e-3);
  EXPECT_EQ(mixture.draws(381), 381U);
}

// Groups of 900 · 1 + 350 · 2 = 1,600 and 77 · 3 = 231 s.
TEST(Mixture, GroupsShareFirstAndTheirPartsThen) {
  std::vector<MixturePart> parts = three(1, 2, 3);
  parts[0].group = parts[1].group = "de";
  parts[2].group = "cs";
  const Mixture mixture(parts, {.temperature = 3, .group_temperature = 2});
  const double german = std::sqrt(1600) / (std::sqrt(1600) + std::sqrt(231));
  const double first = std::cbrt(900) / (std::cbrt(900) + 2 * std::cbrt(350));
  EXPECT_NEAR(mixture.parts()[0].share, german * first, 1e-7);
  EXPECT_NEAR(mixture.parts()[1].share, german * (1 - first), 1e-7);
  EXPECT_NEAR(mixture.parts()[2].share, 1 - german, 1e-7);
  EXPECT_NEAR(mixture.parts()[2].repeats() * 77, (1 - german) * 1327, 1e-3);
}

// Without temperatures, groups change nothing.
TEST(Mixture, GroupsOfTemperatureOneAreAsWithoutGroups) {
  std::vector<MixturePart> grouped = three(1, 2, 3);
  grouped[0].group = grouped[2].group = "de";
  grouped[1].group = "cs";
  const Mixture mixture(grouped, {}), plain(three(1, 2, 3), {});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(mixture.parts()[i].share, plain.parts()[i].share, 1e-12);
}

TEST(Mixture, OfOneManifestIsNone) {
  EXPECT_TRUE(Mixture({{"a", 300, 900, 0.1}}, {5}).empty());
  EXPECT_EQ(Mixture().draws(17), 17u);
  EXPECT_EQ(Mixture().max_repeats(3), 1u);
}

TEST(Mixture, FindsThePartOfAnUtterance) {
  const Mixture mixture(three(), {});
  EXPECT_EQ(mixture.part_of(0).is.manifest, "a");
  EXPECT_EQ(mixture.part_of(299).is.manifest, "a");
  EXPECT_EQ(mixture.part_of(300).is.manifest, "b");
  EXPECT_EQ(mixture.part_of(370).is.manifest, "c");
  EXPECT_EQ(mixture.part_of(380).first, 370u);
}

TEST(Mixture, CountsDrawsOfAllEpochsExactly) {
  const Mixture mixture(three(1, 0.37, 9), {3});
  for (const Mixture::Part& part : mixture.parts()) {
    const double rate = static_cast<double>(part.rate) / 65536;  // exact
    for (const std::int64_t epoch : {0, 1, 2, 3, 17, 1000})
      EXPECT_EQ(part.before(epoch), std::floor(rate * static_cast<double>(epoch)));
  }
}

TEST(Mixture, RefusesPartsThatAreHardlyDrawn) {
  const auto refused = [](const std::vector<MixturePart>& parts) {
    return test::message_of<ConfigError>([&] { Mixture(parts, {}); });
  };
  EXPECT_EQ(refused(three(1e6)),
            "an epoch would hold 0.0001 utterances of b, and should hold one at least: raise its "
            "weight in data.train, or leave it out");
  const std::string many = refused({{"a", 10, 1e9, 1}, {"b", 1000, 1, 1e9}});
  EXPECT_NE(many.find("the utterances of b 5e+08 times, and hold more than 4e9"), std::string::npos)
      << many;
}

}  // namespace
}  // namespace penstock::runtime
