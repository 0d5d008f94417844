#include "partition/schedule/make_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.h"
#include "configs/config.h"
#include "configs/schema.h"
#include "partition/schedule/run_schedule.h"
#include "partition/schedule/validator/validator.h"

namespace penstock::partition {
namespace {

TEST(MakeSchedule, EveryNameIsSoundForAnySizes) {
  for (const std::string_view name : schedule_names()) {
    for (int stages = 1; stages <= 7; ++stages) {
      for (int batches = 1; batches <= 9; ++batches) {
        const Schedule schedule = make_schedule(name, stages, batches);
        EXPECT_EQ(schedule.name, name);
        EXPECT_EQ(schedule.chunk_rank, chunk_ranks(name, stages));
        EXPECT_NO_THROW(validate(schedule)) << name << " " << stages << " " << batches;
      }
    }
  }
}

TEST(MakeSchedule, InterleavedChunksLoopAndVChunksReturn) {
  EXPECT_EQ(make_schedule("interleaved", 3, 4).chunk_rank, (std::vector<int>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(make_schedule("interleaved-3", 2, 4).chunk_rank, (std::vector<int>{0, 1, 0, 1, 0, 1}));
  for (const char* name : {"zb-v", "v-half", "v-min", "dualpipe-v"})
    EXPECT_EQ(make_schedule(name, 3, 4).chunk_rank, (std::vector<int>{0, 1, 2, 2, 1, 0}));
}

TEST(MakeSchedule, OnlyZeroBubblesAndVsSplitTheBackward) {
  for (const std::string_view name : schedule_names()) {
    for (const auto& list : make_schedule(name, 3, 5).ranks) {
      const auto whole = std::ranges::count(list, ActionKind::backward, &Action::kind);
      const auto parts = std::ranges::count(list, ActionKind::backward_weight, &Action::kind);
      const bool zero_bubble =
          name.starts_with("zb") || name.starts_with("v-") || name.starts_with("dualpipe");
      EXPECT_EQ(whole == 0, zero_bubble) << name;
      EXPECT_EQ(parts == 0, !zero_bubble) << name;
    }
  }
}

TEST(MakeSchedule, InterleavedNamesSayTheirChunks) {
  for (const auto& [name, chunks] :
       {std::pair{"interleaved-5", 5}, {"interleaved-11", 11}, {"interleaved-64", 64}}) {
    EXPECT_TRUE(is_schedule(name));
    const Schedule schedule = make_schedule(name, 2, 3);
    EXPECT_EQ(schedule.name, name);
    EXPECT_EQ(schedule.chunks(), 2 * chunks);
    EXPECT_NO_THROW(validate(schedule));
  }
  for (const char* name :
       {"interleaved-", "interleaved-0", "interleaved-1", "interleaved-2", "interleaved-03",
        "interleaved-65", "interleaved-4x", "interleaved--3"}) {
    EXPECT_FALSE(is_schedule(name)) << name;
    EXPECT_THROW(make_schedule(name, 2, 2), ConfigError) << name;
  }
}

TEST(AllScheduleNames, AreThoseOfRecipes) {
  configs::Config recipe;
  const auto choices = configs::find_key(recipe, "pipeline.schedule")->allowed.choices;
  auto names = all_schedule_names();
  names.insert(names.end(), {"interleaved-*", "*.csv"});
  EXPECT_EQ(names, (std::vector(choices.begin(), choices.end())));
}

TEST(MakeSchedule, RejectsUnknownNamesAndListsTheKnown) {
  try {
    make_schedule("1b1f", 2, 2);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "pipeline.schedule = \"1b1f\": known are gpipe, 1f1b, interleaved, "
                 "interleaved-3, interleaved-4, zb-h1, zb-h2, zb-v, v-half, v-min, dualpipe-v, "
                 "found");
  }
  EXPECT_THROW(make_schedule(kFound, 2, 2), ConfigError);
  EXPECT_THROW(make_schedule("1f1b", 0, 2), ConfigError);
  EXPECT_THROW(make_schedule("1f1b", 2, 0), ConfigError);
}

TEST(ScheduleCache, AreThoseThatAreMade) {
  ScheduleCache known;
  const auto shared = std::make_shared<ScheduleCache>();
  for (const auto name : schedule_names())
    for (const int stages : {1, 3, 4})
      for (const int micro_batches : {1, 5, 2}) {
        const Schedule made = make_schedule(name, stages, micro_batches);
        const Schedule& first = known.of(std::string(name), stages, micro_batches);
        EXPECT_EQ(first.name, made.name);
        EXPECT_EQ(first.micro_batches, micro_batches);
        EXPECT_EQ(first.chunk_rank, made.chunk_rank);
        EXPECT_EQ(first.ranks, made.ranks) << name << " " << stages << " " << micro_batches;
        EXPECT_EQ(&known.of(std::string(name), stages, micro_batches), &first);
        const RunSchedule run(std::string(name), stages, shared);
        EXPECT_EQ(run.of(micro_batches).ranks, made.ranks);
        EXPECT_EQ(run.resident(2).of(micro_batches).ranks,
                  RunSchedule(std::string(name), stages).resident(2).of(micro_batches).ranks);
      }
}

TEST(ScheduleCache, KeepNothingOfWrongNames) {
  ScheduleCache known;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(known.of("zb", 2, 3), ConfigError);
}

}  // namespace
}  // namespace penstock::partition
