#include "runtime/job/share_epoch.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "comm/threads.h"
#include "tests/runtime/data/audio/ragged_audio.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

/// Of data that began at a later epoch.
StepSequenceOptions options() {
  StepSequenceOptions options;
  options.lengths = ragged_lengths(1237);
  options.data.speeds = {0.9, 1, 1.1};
  options.data.micro_batch_seconds = 40;
  options.data.micro_batches = 3;
  options.seed = 5;
  options.start = {2, 17};
  return options;
}

TEST(ShareEpoch, FormsItOnOneRankForAll) {
  const StepSequence alone(options());
  for (const int ranks : {1, 2, 3}) {
    std::array<std::int64_t, 3> formed = {};
    comm::run_as_threads({.ranks = ranks}, [&](comm::Communicator& world) {
      StepSequence steps(options());
      share_epoch(world, steps, 2);
      const std::int64_t first = steps.options().start.step;
      for (std::int64_t step = first; step < first + steps.steps_in_epoch(2); ++step) {
        EXPECT_EQ(steps.at(step).micro_batches, alone.at(step).micro_batches) << step;
        EXPECT_EQ(steps.at(step).lanes, alone.at(step).lanes) << step;
        if (step == first) formed[world.rank()] = steps.epochs_formed();
      }
      EXPECT_EQ(steps.longest(8), alone.longest(8));
    });
    EXPECT_LE(formed[0], 1) << ranks;
    EXPECT_EQ(formed[1], 0) << ranks;
    EXPECT_EQ(formed[2], 0) << ranks;
  }
}

TEST(ShareEpoch, TakesNoBytesOfAnother) {
  StepSequence steps(options());
  const std::string bytes = steps.bytes_of(2);
  EXPECT_EQ(test::message_of<DataError>([&] { steps.take(2, bytes.substr(1)); }),
            std::to_string(bytes.size() - 1) + " bytes are not an epoch of 1237 utterances");
  EXPECT_EQ(test::message_of<DataError>([&] { steps.take(2, "short"); }),
            "5 bytes are not an epoch of 1237 utterances");
}

}  // namespace
}  // namespace penstock::runtime
