#include "runtime/pipeline/executor.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/threads.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

// The bits of trained steps (training_step_test) show what it runs; these tests show what it
// refuses.

partition::Schedule of_one_rank(std::vector<partition::Action> list) {
  return {.name = "odd", .micro_batches = 1, .chunk_rank = {0, 0, 0}, .ranks = {std::move(list)}};
}

TEST(Executor, NamesAChunkThatItDoesNotHold) {
  comm::run_as_threads({.ranks = 1}, [](comm::Communicator& world) {
    Executor executor(world, {}, {});
    StepSums sums;
    const std::string message = test::message_of<Error>([&] {
      executor.run(of_one_rank({{partition::ActionKind::forward, 2, 0}}), {}, layers::Mode::train,
                   {}, sums);
    });
    EXPECT_EQ(message, "schedule odd gives rank 0 work for chunk 2, which it does not hold");
  });
}

TEST(Executor, LeavesTheStepToItsCaller) {
  comm::run_as_threads({.ranks = 1}, [](comm::Communicator& world) {
    Executor executor(world, {}, {});
    StepSums sums;
    int told = 0;
    ExecutorCallbacks callbacks;
    callbacks.action = [&](const partition::Action&, Moment) { ++told; };
    executor.run(
        of_one_rank({{partition::ActionKind::step}, {partition::ActionKind::forward, 1, 0}}), {},
        layers::Mode::train, callbacks, sums);
    EXPECT_EQ(told, 0);
  });
}

}  // namespace
}  // namespace penstock::runtime
