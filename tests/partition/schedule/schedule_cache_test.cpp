#include "partition/schedule/schedule_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "configs/config.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/run_schedule.h"

namespace penstock::partition {
namespace {

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
