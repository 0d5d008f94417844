#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "partition/schedule/complete.h"
#include "partition/schedule/edge.h"
#include "partition/schedule/generators.h"
#include "partition/schedule/in_flight.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/run_schedule.h"
#include "partition/schedule/validator/validator.h"
#include "tests/support/partition/found_lists.h"
#include "tests/support/partition/schedule_interpreter.h"

namespace penstock::partition {
namespace {

using enum ActionKind;

std::size_t place_of(const std::vector<Action>& list, const Action& action) {
  return static_cast<std::size_t>(std::ranges::find(list, action) - list.begin());
}

/// The two spans of places in which a micro-batch of a chunk must be on the device.
struct Needs {
  std::size_t forward, passed_on, begins, ends;
  bool at(std::size_t place) const {
    return (forward <= place && place <= passed_on) || (begins <= place && place <= ends);
  }
  bool whole(std::size_t place) const { return forward <= place && place <= ends; }
};

std::vector<Needs> needs_of(const Schedule& schedule, int chunk) {
  const auto& list = schedule.ranks[schedule.chunk_rank[chunk]];
  std::vector<Needs> needs;
  for (int m = 0; m < schedule.micro_batches; ++m) {
    std::size_t whole = place_of(list, {backward, chunk, m});
    const bool split = whole == list.size();
    Needs& need = needs.emplace_back(
        Needs{.forward = place_of(list, {forward, chunk, m}),
              .passed_on = place_of(list, {send_activation, chunk, m}),
              .begins = split ? place_of(list, {backward_input, chunk, m}) : whole,
              .ends = split ? place_of(list, {backward_weight, chunk, m}) : whole});
    if (need.passed_on == list.size()) need.passed_on = place_of(list, {forward, chunk + 1, m});
    if (need.passed_on == list.size()) need.passed_on = need.forward;
  }
  return needs;
}

/// The most that are on the device at once where those whose bit is set are there only when needed.
int max_held(const std::vector<Needs>& needs, std::size_t actions, unsigned leaving) {
  int max = 0;
  for (std::size_t place = 0; place < actions; ++place) {
    int held = 0;
    for (std::size_t m = 0; m < needs.size(); ++m)
      held += (leaving >> m & 1U) != 0 ? needs[m].at(place) : needs[m].whole(place);
    max = std::max(max, held);
  }
  return max;
}

/// Runs through the list: what is on the device at once, and what never comes to it too early.
int max_held(const Schedule& schedule, int chunk) {
  std::set<int> held;
  std::size_t max = 0;
  for (const Action& action : schedule.ranks[schedule.chunk_rank[chunk]]) {
    if (action.chunk != chunk || action.kind == reduce || action.kind == step) continue;
    const int m = action.micro_batch;
    if (action.kind == forward || action.kind == reload) {
      EXPECT_TRUE(held.insert(m).second);
    } else if (action.kind == backward || action.kind == backward_input ||
               action.kind == backward_weight || action.kind == send_activation) {
      EXPECT_TRUE(held.contains(m)) << describe(action);
    }
    max = std::max(max, held.size());
    if (action.kind == offload || action.kind == backward || action.kind == backward_weight) {
      EXPECT_EQ(held.erase(m), 1U);
    }
  }
  return static_cast<int>(max);
}

Schedule without_copies(Schedule schedule) {
  for (auto& list : schedule.ranks)
    std::erase_if(list, [](const Action& a) { return a.kind == offload || a.kind == reload; });
  return schedule;
}

std::vector<int> moved(const Schedule& schedule, int chunk, ActionKind kind) {
  std::vector<int> batches;
  for (const Action& action : schedule.ranks[schedule.chunk_rank[chunk]])
    if (action.kind == kind && action.chunk == chunk) batches.push_back(action.micro_batch);
  return batches;
}

/// Calls `check(whole lists, the same with offload, resident)`.
template <class Check>
void for_all(int max_batches, Check check) {
  for (const std::string_view name : schedule_names())
    for (int stages = 1; stages <= 5; ++stages)
      for (int batches = 1; batches <= max_batches; ++batches) {
        const Schedule whole = make_schedule(name, stages, batches);
        for (int resident = 1; resident <= 4; ++resident) {
          SCOPED_TRACE(std::string(name) + " " + std::to_string(stages) + " stages, " +
                       std::to_string(batches) + " micro-batches, " + std::to_string(resident));
          check(whole, with_offload(whole, resident), resident);
        }
      }
}

TEST(Offload, HoldsNoMoreThanItMay) {
  for_all(9, [](const Schedule& whole, const Schedule& lists, int resident) {
    EXPECT_EQ(without_copies(lists).ranks, whole.ranks);
    EXPECT_NO_THROW(validate(lists));
    for (int chunk = 0; chunk < lists.chunks(); ++chunk) {
      const std::size_t actions = whole.ranks[whole.chunk_rank[chunk]].size();
      const int min = max_held(needs_of(whole, chunk), actions, ~0U);
      EXPECT_EQ(min_resident(whole, chunk), min) << chunk;
      EXPECT_LE(max_held(lists, chunk), std::max(resident, min)) << chunk;
      EXPECT_EQ(count_in_flight(lists, chunk).slots, max_held(lists, chunk)) << chunk;
    }
  });
}

TEST(Offload, ComputesTheSameInAnyTurn) {
  std::mt19937 random(3);
  for_all(6, [&](const Schedule&, const Schedule& lists, int) {
    EXPECT_EQ(test::run_schedule(lists, random), "");
  });
}

TEST(Offload, MovesAsFewAsCanBe) {
  for_all(7, [](const Schedule& whole, const Schedule& lists, int resident) {
    for (int chunk = 0; chunk < lists.chunks(); ++chunk) {
      const std::vector<Needs> needs = needs_of(whole, chunk);
      const std::size_t actions = whole.ranks[whole.chunk_rank[chunk]].size();
      const int room = std::max(resident, max_held(needs, actions, ~0U));
      int min = whole.micro_batches;
      for (unsigned leaving = 0; leaving < 1U << needs.size(); ++leaving)
        if (max_held(needs, actions, leaving) <= room) min = std::min(min, std::popcount(leaving));
      EXPECT_EQ(std::ssize(moved(lists, chunk, offload)), min) << chunk;
    }
  });
}

TEST(Offload, ReloadsInOrderOfBackwardAndEarly) {
  for_all(7, [](const Schedule& whole, const Schedule& lists, int resident) {
    for (int chunk = 0; chunk < lists.chunks(); ++chunk) {
      const auto& list = lists.ranks[lists.chunk_rank[chunk]];
      const int room = std::max(resident, min_resident(whole, chunk));
      std::size_t before = 0, backward_before = 0;
      for (const int m : moved(lists, chunk, reload)) {
        const Needs needs = needs_of(lists, chunk)[static_cast<std::size_t>(m)];
        const std::size_t at = place_of(list, {reload, chunk, m});
        EXPECT_LT(backward_before, needs.begins);
        backward_before = needs.begins;
        // In front of what stands before it there was no room, or it is the reload before.
        Schedule earlier = lists;
        auto& changed = earlier.ranks[lists.chunk_rank[chunk]];
        std::swap(changed[at], changed[at - 1]);
        const bool follows = at == before + 1 && before > 0;
        const bool left = list[at - 1] == Action{offload, chunk, m};
        if (!follows && !left && list[at - 1].kind != reload) {
          EXPECT_GT(count_in_flight(earlier, chunk).slots, room) << chunk << " " << m;
        }
        before = at;
      }
    }
  });
}

// Stage 0 of four holds four micro-batches in 1F1B; two stay.
TEST(Offload, ListsOfOneForwardOneBackward) {
  const auto list = with_offload(make_schedule("1f1b", 4, 5), 2).ranks[0];
  std::vector<Action> own;
  for (const Action& action : list)
    if (!is_send(action.kind) && !is_receive(action.kind)) own.push_back(action);
  const std::vector<Action> expected = {
      {forward, 0, 0},  {forward, 0, 1},  {offload, 0, 1},  {forward, 0, 2}, {offload, 0, 2},
      {forward, 0, 3},  {backward, 0, 0}, {forward, 0, 4},  {offload, 0, 4}, {reload, 0, 1},
      {backward, 0, 1}, {reload, 0, 2},   {backward, 0, 2}, {reload, 0, 4},  {backward, 0, 3},
      {backward, 0, 4}, {reduce, 0},      {step},
  };
  EXPECT_EQ(own, expected);
  EXPECT_EQ(count_in_flight(with_offload(make_schedule("1f1b", 4, 5), 2), 0).host, 3);
}

TEST(Offload, LeavesAloneWhatHasRoom) {
  for (const std::string_view name : schedule_names()) {
    const Schedule whole = make_schedule(name, 3, 7);
    EXPECT_EQ(with_offload(whole, 0).ranks, whole.ranks);
    EXPECT_EQ(with_offload(whole, 14).ranks, whole.ranks);
  }
  const Schedule evaluation = forward_only({0, 1, 1}, 5);
  EXPECT_EQ(with_offload(evaluation, 1).ranks, evaluation.ranks);
}

// The memory that training reserves for a whole step suffices for the last one of an epoch.
// Schedules of several chunks a rank are left out: their shorter steps may hold more anyway.
TEST(Offload, AShorterStepNeedsNoMore) {
  for (const int resident : {1, 2, 3}) {
    for (const std::string_view name : schedule_names())
      for (int stages = 1; stages <= 4; ++stages) {
        const RunSchedule run = RunSchedule(std::string(name), stages).resident(resident);
        const Schedule whole = run.of(9);
        if (whole.chunks() > stages) continue;
        for (int batches = 1; batches < 9; ++batches)
          for (int chunk = 0; chunk < whole.chunks(); ++chunk) {
            const InFlight step = count_in_flight(run.of(batches), chunk);
            EXPECT_LE(step.slots, count_in_flight(whole, chunk).slots) << name << batches;
            EXPECT_LE(step.host, count_in_flight(whole, chunk).host) << name << batches;
          }
      }
    const RunSchedule found = test::found_lists(3, 8, {}).resident(resident);
    for (int batches = 1; batches <= 8; ++batches) EXPECT_NO_THROW(validate(found.of(batches)));
  }
}

}  // namespace
}  // namespace penstock::partition
