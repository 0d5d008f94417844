#include "partition/planner/simulate/simulate.h"

#include <algorithm>
#include <utility>

#include "partition/planner/simulate/event_simulator.h"

namespace penstock::partition {
namespace {

// Steps to simulate in a row, and how many of the first ones to leave out, until they repeat.
constexpr int kSteps = 6, kLeftOut = 3;

/// Returns the same step `steps` times, with consecutive micro-batch numbers.
Schedule repeated(const Schedule& schedule, int steps) {
  Schedule all = schedule;
  for (auto& list : all.ranks) {
    const std::vector<Action> once = list;
    for (int step = 1; step < steps; ++step) {
      for (Action action : once) {
        action.micro_batch += step * schedule.micro_batches;
        list.push_back(action);
      }
    }
  }
  return all;
}

/// Returns durations in which every step takes those of the first.
Durations repeated(const Durations& durations, int micro_batches) {
  Durations all = durations;
  all.compute = [&durations, micro_batches](Action action) {
    action.micro_batch %= micro_batches;
    return durations.compute(action);
  };
  if (durations.transfer) {
    all.transfer = [&durations, micro_batches](const Edge& edge, int batch) {
      return durations.transfer(edge, batch % micro_batches);
    };
  }
  return all;
}

}  // namespace

double ChunkTimes::of(ActionKind kind) const {
  switch (kind) {
    case ActionKind::forward:
      return forward;
    case ActionKind::backward:
      return backward_input + backward_weight;
    case ActionKind::backward_input:
      return backward_input;
    case ActionKind::backward_weight:
      return backward_weight;
    default:
      return 0;
  }
}

Durations equal_micro_batches(std::vector<ChunkTimes> chunks) {
  return {.compute = [chunks = std::move(chunks)](const Action& action) {
    return computes(action.kind) ? chunks[action.chunk].of(action.kind) : 0.0;
  }};
}

Durations unequal_micro_batches(std::vector<std::vector<ChunkTimes>> times) {
  return {.compute = [times = std::move(times)](const Action& action) {
    if (!computes(action.kind)) return 0.0;
    return times[action.chunk][action.micro_batch].of(action.kind);
  }};
}

Simulation simulate(const Schedule& schedule, const Durations& durations, Barrier barrier) {
  return EventSimulator(schedule, durations, barrier).run();
}

namespace {

/// Returns the end of each step: the latest on any rank.
std::vector<double> ends_of_steps(const Simulation& simulation) {
  std::vector<double> ends;
  for (const auto& list : simulation.ranks) {
    std::size_t step = 0;
    for (const TimedAction& timed : list) {
      if (timed.action.kind != ActionKind::step) continue;
      ends.resize(std::max(ends.size(), step + 1), 0);
      ends[step] = std::max(ends[step], timed.end);
      ++step;
    }
  }
  return ends;
}

/// Returns the period with a barrier, after which nothing is in flight. So each step starts as the
/// step before did, as soon as the ranks have stepped. It is enough to simulate one step that
/// starts in this way.
double period_of_barriers(const Schedule& schedule, const Durations& durations) {
  Schedule behind = schedule;
  for (auto& list : behind.ranks) {
    // The step before is reduced to its last action, which all ranks begin together at time 0.
    const auto step = std::ranges::find(list, ActionKind::step, &Action::kind);
    if (step != list.end()) list.insert(list.begin(), Action(*step));
  }
  const auto ends = ends_of_steps(simulate(behind, durations, Barrier::before_step));
  return ends[1] - ends[0];
}

}  // namespace

// Without a barrier a step overlaps the next one, and ranks drift until their distances repeat. So
// several steps are simulated in a row, and the period is the mean over those after the first ones.
// Micro-batches are numbered on from step to step, so lengths and bytes are looked up modulo the
// micro-batches of one step.
double step_period(const Schedule& schedule, const Durations& durations, Barrier barrier) {
  if (barrier == Barrier::before_step) return period_of_barriers(schedule, durations);
  const Schedule steps = repeated(schedule, kSteps);
  const Durations wrapped = repeated(durations, schedule.micro_batches);
  Network network;
  Durations all = wrapped;
  if (durations.network != nullptr) {
    network = *durations.network;
    network.bytes = [&](const Edge& edge, int batch) {
      return durations.network->bytes(edge, batch % schedule.micro_batches);
    };
    all.network = &network;
  }
  const auto ends = ends_of_steps(simulate(steps, all, barrier));
  return (ends.back() - ends[kLeftOut - 1]) / (kSteps - kLeftOut);
}

// Transfers, reductions and steps are not computing: only passes count to either time.
std::vector<double> Simulation::bubbles() const {
  double longest = 0;
  std::vector<double> work;
  for (const auto& list : ranks) {
    double& sum = work.emplace_back(0);
    const TimedAction *first = nullptr, *last = nullptr;
    for (const TimedAction& timed : list) {
      if (!computes(timed.action.kind)) continue;
      sum += timed.end - timed.start;
      if (first == nullptr) first = &timed;
      last = &timed;
    }
    if (first != nullptr) longest = std::max(longest, last->end - first->start);
  }
  for (double& sum : work) sum = longest - sum;
  return work;
}

// One rank would need the sum of all passes. Messages, reductions and steps take no time here, so
// the real speedup is lower.
double speedup_bound(const Schedule& schedule, const std::vector<ChunkTimes>& chunks) {
  double micro_batch = 0;
  for (const ChunkTimes& times : chunks) micro_batch += times.total();
  const Simulation pipelined = simulate(schedule, equal_micro_batches(chunks));
  return micro_batch * schedule.micro_batches / pipelined.makespan;
}

std::vector<TimedMessage> simulated_messages(const Schedule& schedule, const Durations& durations,
                                             Barrier barrier) {
  EventSimulator clockwork(schedule, durations, barrier);
  clockwork.run();
  return clockwork.messages();
}

}  // namespace penstock::partition
