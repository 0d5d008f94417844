#include <gtest/gtest.h>

#include "partition/planner/simulate/simulate.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"

namespace penstock::partition {
namespace {

double seconds(const Schedule& schedule) {
  const auto chunks = static_cast<std::size_t>(schedule.chunks());
  return simulate(schedule, equal_micro_batches(std::vector<ChunkTimes>(chunks, {1, 1, 1})))
      .makespan;
}

TEST(ForwardOnly, IsSoundOverTheChunksOfEverySchedule) {
  for (const std::string_view name : schedule_names())
    for (int stages : {1, 2, 3, 5, 8})
      for (int micro_batches : {1, 2, 7, 64})
        EXPECT_NO_THROW(validate(forward_only(chunk_ranks(name, stages), micro_batches)))
            << name << ", " << stages << " stages, " << micro_batches;
}

// From the first forward to the last, a micro-batch passes every chunk; the slowest rank has as
// many forwards for each of the others as it has chunks.
TEST(ForwardOnly, KeepsEveryRankBusyWhateverItsChunks) {
  const int stages = 4, micro_batches = 20;
  EXPECT_EQ(seconds(forward_only(chunk_ranks("1f1b", stages), micro_batches)),
            stages + micro_batches - 1);
  for (const char* name : {"interleaved", "zb-v"})
    EXPECT_LE(seconds(forward_only(chunk_ranks(name, stages), micro_batches)),
              2 * stages + 2 * (micro_batches - 1) + 2 * stages)
        << name;
}

}  // namespace
}  // namespace penstock::partition
