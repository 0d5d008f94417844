#include "partition/schedule/validator/validator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "partition/schedule/complete.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/corrupted_lists.h"
#include "tests/support/partition/schedule_interpreter.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::partition {
namespace {

using Kind = ActionKind;

std::string error_message(const Schedule& schedule) {
  return test::message_of<ConfigError>([&] { validate(schedule); });
}

/// The same order with every backward in its two parts, without transfers.
Schedule split_backward(const Schedule& whole) {
  Schedule parts = whole;
  for (auto& list : parts.ranks) {
    std::vector<Action> split;
    for (const Action& action : list) {
      if (is_send(action.kind) || is_receive(action.kind)) continue;
      split.push_back(action);
      if (action.kind != Kind::backward) continue;
      split.back().kind = Kind::backward_input;
      split.push_back({Kind::backward_weight, action.chunk, action.micro_batch});
    }
    list = split;
  }
  return with_transfers(parts);
}

/// Two chunks a rank: down the ranks and up again, so that the middle passes within a rank and two
/// neighbours share four edges.
Schedule v_shaped(int ranks, int micro_batches) {
  Schedule schedule{.name = "v", .micro_batches = micro_batches};
  schedule.ranks.resize(ranks);
  for (int chunk = 0; chunk < 2 * ranks; ++chunk) {
    schedule.chunk_rank.push_back(std::min(chunk, 2 * ranks - 1 - chunk));
  }
  for (int at = 0; at < 4 * ranks; ++at) {
    const int chunk = std::min(at, 4 * ranks - 1 - at);
    const Kind kind = at < 2 * ranks ? Kind::forward : Kind::backward;
    auto& list = schedule.ranks[schedule.chunk_rank[chunk]];
    for (int batch = 0; batch < micro_batches; ++batch) list.push_back({kind, chunk, batch});
    if (kind == Kind::backward) list.push_back({Kind::reduce, chunk});
  }
  for (auto& list : schedule.ranks) list.push_back({Kind::step});
  return with_transfers(schedule);
}

std::vector<Schedule> sound_schedules() {
  return {make_schedule("gpipe", 1, 1),
          make_schedule("gpipe", 3, 4),
          make_schedule("1f1b", 1, 3),
          make_schedule("1f1b", 2, 5),
          make_schedule("1f1b", 4, 3),
          make_schedule("interleaved", 3, 4),
          make_schedule("zb-h1", 3, 4),
          make_schedule("zb-h2", 3, 5),
          make_schedule("zb-v", 2, 3),
          make_schedule("interleaved-3", 2, 3),
          make_schedule("dualpipe-v", 2, 4),
          forward_only({0, 1, 2}, 3),
          forward_only({0, 1, 1, 0}, 2),
          split_backward(make_schedule("1f1b", 3, 4)),
          split_backward(make_schedule("gpipe", 2, 2)),
          v_shaped(2, 3),
          with_offload(make_schedule("1f1b", 3, 5), 1),
          with_offload(make_schedule("zb-v", 2, 3), 2)};
}

TEST(Validator, AcceptsEveryNamedScheduleAsTheInterpreterDoes) {
  std::mt19937 random(2);
  for (const std::string_view name : schedule_names()) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int batches = 1; batches <= 11; batches += 2) {
        const Schedule schedule = make_schedule(name, stages, batches);
        EXPECT_EQ(error_message(schedule), "");
        EXPECT_EQ(test::run_schedule(schedule, random), "") << name << stages << " " << batches;
      }
    }
  }
}

TEST(Validator, AcceptsSoundSchedules) {
  std::mt19937 random(1);
  for (const Schedule& schedule : sound_schedules()) {
    EXPECT_EQ(error_message(schedule), "");
    EXPECT_EQ(test::run_schedule(schedule, random), "") << schedule.name;
  }
}

TEST(Validator, AgreesWithRunningOnRandomCorruptions) {
  std::mt19937 random(7);
  int accepted = 0, refused = 0;
  for (int round = 0; round < 500; ++round) {
    for (const Schedule& sound : sound_schedules()) {
      Schedule schedule = test::corrupt(sound, random);
      if (round % 3 == 0) schedule = test::corrupt(schedule, random);
      const std::string verdict = error_message(schedule),
                        run = test::run_schedule(schedule, random);
      ASSERT_EQ(verdict.empty(), run.empty())
          << schedule.name << "\nvalidator: " << verdict << "\nrun: " << run;
      accepted += verdict.empty() ? 1 : 0;
      refused += verdict.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(accepted, 500);
  EXPECT_GT(refused, 2500);
}

TEST(Validator, CountsActivationsInFlight) {
  const int stages = 4, batches = 6;
  const ScheduleProof gpipe = validate(make_schedule("gpipe", stages, batches));
  const ScheduleProof alternating = validate(make_schedule("1f1b", stages, batches));
  for (int stage = 0; stage < stages; ++stage) {
    EXPECT_EQ(gpipe.in_flight[stage].slots, batches);
    EXPECT_EQ(alternating.in_flight[stage].slots, stages - stage);
    // One receive is posted ahead, where there is one.
    EXPECT_EQ(alternating.in_flight[stage].inputs, stages - stage + (stage == 0 ? 0 : 1));
    EXPECT_EQ(alternating.in_flight[stage].output_gradients, stage == stages - 1 ? 0 : 2);
  }
  const ScheduleProof few = validate(make_schedule("1f1b", 4, 2));
  for (int stage = 0; stage < stages; ++stage) {
    EXPECT_EQ(few.in_flight[stage].slots, std::min(2, stages - stage));
  }
  // Within a rank nothing is received: an input exists from its forward, the gradient of an output
  // from the next chunk's backward.
  const ScheduleProof local = validate(v_shaped(2, 3));
  EXPECT_EQ(local.in_flight[2].inputs, 3);
  EXPECT_EQ(local.in_flight[1].output_gradients, 3);
}

TEST(Validator, SaysWhichRanksWaitForEachOther) {
  // Both ranks send before either posts its receive.
  Schedule schedule = make_schedule("1f1b", 2, 2);
  schedule.ranks[0] = {{Kind::forward, 0, 0},
                       {Kind::send_activation, 0, 0},
                       {Kind::forward, 0, 1},
                       {Kind::send_activation, 0, 1},
                       {Kind::receive_gradient, 0, 0},
                       {Kind::backward, 0, 0},
                       {Kind::receive_gradient, 0, 1},
                       {Kind::backward, 0, 1},
                       {Kind::reduce, 0},
                       {Kind::step}};
  schedule.ranks[1] = {{Kind::receive_activation, 1, 0},
                       {Kind::forward, 1, 0},
                       {Kind::backward, 1, 0},
                       {Kind::send_gradient, 1, 0},
                       {Kind::receive_activation, 1, 1},
                       {Kind::forward, 1, 1},
                       {Kind::backward, 1, 1},
                       {Kind::send_gradient, 1, 1},
                       {Kind::reduce, 1},
                       {Kind::step}};
  EXPECT_EQ(error_message(schedule),
            "schedule \"1f1b\" is not sound: it hangs: rank 0, action 3 (send activation of "
            "micro-batch 1 on chunk 0) waits for rank 1, action 4 (receive activation of "
            "micro-batch 1 on chunk 1); rank 1, action 3 (send gradient of micro-batch 0 on chunk "
            "1) waits for rank 0, action 4 (receive gradient of micro-batch 0 on chunk 0)");
}

TEST(Validator, SaysWhatIsMissingOrOutOfOrder) {
  Schedule schedule = make_schedule("gpipe", 1, 2);
  std::swap(schedule.ranks[0][2], schedule.ranks[0][3]);
  EXPECT_EQ(error_message(schedule),
            "schedule \"gpipe\" is not sound: rank 0, action 2 (backward of micro-batch 1 on chunk "
            "0) must come after action 3 (backward of micro-batch 0 on chunk 0)");
  schedule.ranks[0].pop_back();
  EXPECT_NE(error_message(schedule), "");
  schedule = make_schedule("1f1b", 2, 3);
  std::erase(schedule.ranks[0], Action{Kind::receive_gradient, 0, 2});
  EXPECT_EQ(error_message(schedule),
            "schedule \"1f1b\" is not sound: rank 0 lacks receive gradient of micro-batch 2 on "
            "chunk 0");
  std::erase(schedule.ranks[1], Action{Kind::backward, 1, 2});
  EXPECT_EQ(error_message(schedule),
            "schedule \"1f1b\" is not sound: rank 1 lacks backward of micro-batch 2 on chunk 1");
  schedule = make_schedule("zb-h1", 2, 3);
  std::erase(schedule.ranks[1], Action{Kind::backward_weight, 1, 1});
  EXPECT_EQ(error_message(schedule),
            "schedule \"zb-h1\" is not sound: rank 1 lacks backward weight of micro-batch 1 on "
            "chunk 1");
}

}  // namespace
}  // namespace penstock::partition
