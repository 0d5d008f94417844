#include "partition/choose/find_choice.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "partition/choose/cut_choice.h"
#include "partition/choose/stage_memory.h"
#include "partition/plan/plan_schedule.h"
#include "partition/plan/planner.h"
#include "partition/schedule/make_schedule.h"
#include "partition/search/find_schedule.h"
#include "partition/simulate/size_order.h"

namespace penstock::partition {
namespace {

constexpr std::int64_t kEffort = 4'000'000;  // turns estimated

double total(const std::vector<std::vector<ChunkTimes>>& times, std::size_t micro_batch) {
  double seconds = 0;
  for (const auto& chunk : times) seconds += chunk[micro_batch].total();
  return seconds;
}

void add(const ChunkTimes& one, double share, ChunkTimes& sum) {
  sum.forward += share * one.forward;
  sum.backward_input += share * one.backward_input;
  sum.backward_weight += share * one.backward_weight;
}

int busiest(const PlanningProblem& problem, const PlanChoice& choice) {
  const int lanes = problem.most_replicas > 0 ? problem.most_replicas : choice.replicas;
  return micro_batches_per_replica(choice.batch.micro_batches, lanes, choice.replicas);
}

/// Of the slowest link between two neighbouring stages, for the mean message.
double transfer_behind(const PlanningProblem& problem, const Workload& workload,
                       const PlanChoice& choice, int stage) {
  const auto& layer = workload.mean.layers[static_cast<std::size_t>(choice.begin[stage + 1] - 1)];
  double slowest = 0;
  for (int replica = 0; replica < choice.replicas; ++replica) {
    const LinkRates link =
        problem.cluster.link(choice.devices[stage][replica], choice.devices[stage + 1][replica]);
    slowest = std::max(slowest, link.latency + layer.activation_bytes / link.bandwidth);
  }
  return slowest;
}

}  // namespace

RunSchedule schedule_of(const PlanChoice& choice) {
  if (choice.schedule != kFound) return RunSchedule(choice.schedule, choice.stages);
  Schedule lists = lists_of(choice.actions);
  auto sizes = order_of_replica(choice.batch.order, choice.replicas, lists.micro_batches);
  return {std::move(lists), std::move(sizes)};
}

std::vector<std::vector<ChunkTimes>> times_by_size(const PlanningProblem& problem,
                                                   const Workload& workload,
                                                   const PlanChoice& choice) {
  std::vector<std::vector<ChunkTimes>> sums(choice.begin.size() - 1);
  std::vector<double> counts;
  for (std::size_t s = 0; s < workload.steps.size(); ++s)
    for (int replica = 0; replica < choice.replicas; ++replica) {
      const int own = workload.steps[s].replicas[replica].micro_batches();
      if (own == 0) continue;
      const auto step = predict_replica(problem, workload, choice, s, replica);
      std::vector<std::size_t> longest;
      for (int m = 0; m < own; ++m) longest.push_back(static_cast<std::size_t>(m));
      std::ranges::stable_sort(longest, std::greater{},
                               [&](std::size_t m) { return total(step->times(), m); });
      counts.resize(std::max(counts.size(), longest.size()), 0);
      for (auto& chunk : sums) chunk.resize(counts.size());
      for (std::size_t size = 0; size < longest.size(); ++size) {
        ++counts[size];
        for (std::size_t chunk = 0; chunk < sums.size(); ++chunk)
          add(step->times()[chunk][longest[size]], 1, sums[chunk][size]);
      }
    }
  std::vector<std::vector<ChunkTimes>> means(sums.size());
  for (std::size_t chunk = 0; chunk < sums.size(); ++chunk)
    for (std::size_t size = 0; size < counts.size(); ++size)
      add(sums[chunk][size], 1 / counts[size], means[chunk].emplace_back());
  return means;
}

std::optional<PlanChoice> find_choice(const PlanningProblem& problem, const Workload& workload,
                                      const PlanChoice& choice) {
  if (ranks_of_chunks(choice) != chunk_ranks(kFound, choice.stages)) return std::nullopt;
  PlanChoice split = choice;  // whose messages, slots and recomputation are those of its passes
  split.schedule = "zb-h1";
  split.actions.clear();
  if (!problem.recomputed) recompute_to_fit(problem, workload, split);
  const int own = busiest(problem, choice);
  ScheduleProblem search{.chunk_rank = ranks_of_chunks(choice),
                         .times = times_by_size(problem, workload, split),
                         .memory = 1};
  for (auto& chunk : search.times) {
    if (chunk.empty()) return std::nullopt;
    chunk.resize(static_cast<std::size_t>(own), chunk.back());  // no sampled step is whole
  }
  const bool keeps = problem.keeps_order || choice.stages == 1;
  const auto sizes = order_of_replica(choice.batch.order, choice.replicas, own);
  if (keeps)
    for (auto& chunk : search.times) chunk = in_order(chunk, sizes);
  const StageMemory memory(problem, split);
  for (int stage = 0; stage < choice.stages; ++stage) {
    const int capacity = memory.capacity(choice.begin, stage, std::min(own, 2 * choice.stages));
    search.held.emplace_back(static_cast<std::size_t>(own), 1.0 / capacity);
    search.transfers.push_back(
        stage + 1 < choice.stages ? transfer_behind(problem, workload, choice, stage) : 0);
  }
  const FoundSchedule found =
      find_schedule(search, {.seed = problem.seed, .effort = kEffort, .keep_order = keeps});
  PlanChoice chosen = split;
  chosen.schedule = kFound;
  chosen.actions = rows_of(found.schedule);
  if (!problem.recomputed && !chosen.recomputed.empty())
    chosen.recompute_exact = false;  // fewer may do for lists that hold less
  if (!keeps)
    chosen.batch.order = order_of_step(found.order, choice.replicas, choice.batch.micro_batches);
  if (StageMemory(problem, chosen).too_full(chosen.begin)) return std::nullopt;
  return chosen;
}

}  // namespace penstock::partition
