#include "partition/schedules/make_schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "configs/config.h"
#include "partition/validator.h"

namespace penstock {
namespace {

TEST(MakeSchedule, EveryNameIsSoundForAnySizes) {
  for (const std::string name : {"gpipe", "1f1b"}) {
    for (int stages = 1; stages <= 7; ++stages) {
      for (int batches = 1; batches <= 9; ++batches) {
        const Schedule schedule = make_schedule(name, stages, batches);
        EXPECT_EQ(schedule.name, name);
        EXPECT_NO_THROW(validate(schedule)) << name << " " << stages << " " << batches;
      }
    }
  }
}

TEST(MakeSchedule, RefusesWithTheKnownNames) {
  try {
    make_schedule("1b1f", 2, 2);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "pipeline.schedule = \"1b1f\": known are gpipe, 1f1b");
  }
  EXPECT_THROW(make_schedule("1f1b", 0, 2), ConfigError);
  EXPECT_THROW(make_schedule("1f1b", 2, 0), ConfigError);
}

}  // namespace
}  // namespace penstock
