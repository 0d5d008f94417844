#include "tools/sweep/sweep_axis.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

using Values = std::vector<std::string>;

Values values_of(const std::string& word) {
  const auto axis = parse_axis(word);
  return axis ? axis->values : Values{};
}

std::string fault_of(const std::string& word) {
  return test::message_of<ConfigError>([&] { (void)parse_axis(word); });
}

TEST(SweepAxis, CommasDivideValues) {
  const auto axis = parse_axis("optimizer.kind=sgd,adamw,lamb");
  ASSERT_TRUE(axis);
  EXPECT_EQ(axis->key, "optimizer.kind");
  EXPECT_EQ(axis->written, "sgd,adamw,lamb");
  EXPECT_EQ(axis->values, (Values{"sgd", "adamw", "lamb"}));
  EXPECT_FALSE(axis->is_range());
}

TEST(SweepAxis, CommasWithinAValueDoNotDivide) {
  EXPECT_EQ(values_of("data.speeds=[0.9, 1],[1]"), (Values{"[0.9, 1]", "[1]"}));
  EXPECT_EQ(values_of("data.train=[{manifest = \"a\", weight = 2}],b"),
            (Values{"[{manifest = \"a\", weight = 2}]", "b"}));
  EXPECT_EQ(values_of("data.train=\"a,b\",c"), (Values{"\"a,b\"", "c"}));
}

TEST(SweepAxis, OneValueIsForAllRuns) {
  for (const char* word : {"trainer.steps=5", "data.speeds=[0.9, 1]",
                           "data.validation=", "data.train=../a..b/c.jsonl", "text.alphabet=1..x"})
    EXPECT_FALSE(parse_axis(word)) << word;
}

TEST(SweepAxis, RangesHaveEndsAndAScale) {
  const auto rate = parse_axis("optimizer.learning_rate=1e-4..1e-2@log");
  ASSERT_TRUE(rate);
  EXPECT_TRUE(rate->is_range());
  EXPECT_EQ(rate->low, 1e-4);
  EXPECT_EQ(rate->high, 1e-2);
  EXPECT_TRUE(rate->logarithmic);
  EXPECT_FALSE(rate->whole);
  const auto layers = parse_axis("model.layers=-1..8");
  ASSERT_TRUE(layers);
  EXPECT_TRUE(layers->whole);
  EXPECT_FALSE(layers->logarithmic);
  EXPECT_EQ(layers->low, -1);
  EXPECT_FALSE(parse_axis("model.dropout=0.0..1@linear")->whole);
  EXPECT_EQ(parse_axis("model.dropout=0...5")->high, 0.5);
}

TEST(SweepAxis, EarlierNamesAreTaken) {
  EXPECT_EQ(parse_axis("schedule.floor=1,2")->key, "lr_schedule.min_lr");
}

TEST(SweepAxis, FaultsSayWhatIsWrong) {
  EXPECT_EQ(fault_of("a.b=1..2@exp"), "a.b=1..2@exp: a range ends in @log or @linear, not in @exp");
  EXPECT_EQ(fault_of("a.b=2..2"), "a.b=2..2: a range goes from a lower to a higher number");
  EXPECT_EQ(fault_of("a.b=0..2@log"),
            "a.b=0..2@log: @log needs numbers above 0; @linear takes any");
  EXPECT_EQ(fault_of("a.b=0..9000000000000000"),
            "a.b=0..9000000000000000: whole numbers of a range reach up to 1e15");
  EXPECT_EQ(fault_of("a.b=1,,2"), "a.b=1,,2: a value is empty: commas divide values");
  EXPECT_EQ(fault_of("a.b=1,2,1"), "a.b=1,2,1: 1 stands there twice");
}

}  // namespace
}  // namespace penstock::tools
