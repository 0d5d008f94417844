#include "partition/planner/choose/with_found_schedule.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/parallel.h"
#include "partition/planner/choose/cut_candidate.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/plan/planner.h"
#include "partition/planner/search/find_schedule.h"
#include "partition/planner/search/pattern.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

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

/// Micro-batches per step of the busiest replica.
int busiest(const PlanningProblem& problem, const Candidate& candidate) {
  const int lanes =
      problem.constraints.max_replicas > 0 ? problem.constraints.max_replicas : candidate.replicas;
  return micro_batches_per_replica(candidate.batch.micro_batches, lanes, candidate.replicas);
}

/// Returns the seconds of the mean message from a chunk to the next, on the slowest of the
/// replicas' links; 0 if both chunks are on one stage.
double transfer_after(const PlanningProblem& problem, const Workload& workload,
                      const Candidate& candidate, const std::vector<int>& ranks, int chunk) {
  if (chunk + 1 == std::ssize(ranks) || ranks[chunk] == ranks[chunk + 1]) return 0;
  const auto& layer =
      workload.mean.layers[static_cast<std::size_t>(candidate.begin[chunk + 1] - 1)];
  double slowest = 0;
  for (int replica = 0; replica < candidate.replicas; ++replica) {
    const LinkRates link = problem.cluster.link(candidate.devices[ranks[chunk]][replica],
                                                candidate.devices[ranks[chunk + 1]][replica]);
    slowest = std::max(slowest, link.latency + layer.activation_bytes / link.bandwidth);
  }
  return slowest;
}

/// Returns `candidate` with these lists as its own.
Candidate with_lists(const Candidate& candidate, const Schedule& lists) {
  Candidate listed = candidate;
  listed.schedule = kFound;
  listed.actions = rows_of(lists);
  return listed;
}

/// Returns `candidate` with a schedule that splits backward, for the same chunks on the same
/// stages. Found lists split it too, so that costs and bytes of this candidate hold for them.
Candidate split_of(const Candidate& candidate, int own) {
  Candidate split = candidate;
  for (const char* name : {"zb-h1", "zb-v"})
    if (ranks_of_chunks(candidate) == chunk_ranks(name, candidate.stages)) {
      split.schedule = name;
      split.actions.clear();
      return split;
    }
  return with_lists(split, with_backward_in_parts(schedule_of(candidate).of(own)));
}

/// Sets the memory of the search. A stage's memory is 1. A micro-batch on a chunk holds a share in
/// proportion to the chunk's bytes. As many micro-batches as fit on all chunks of a stage make 1.
void share_memory(const StageMemory& memory, const Candidate& candidate, int own,
                  ScheduleProblem& search) {
  const std::vector<int>& ranks = search.chunk_rank;
  std::vector<double> bytes, of_stage(candidate.stages, 0);
  const ChunkBytes one = memory.bytes().holding(in_flight_of(1));
  const ChunkBytes two = memory.bytes().holding(in_flight_of(2));
  for (int chunk = 0; chunk < search.chunks(); ++chunk) {
    const int first = candidate.begin[chunk], last = candidate.begin[chunk + 1];
    bytes.push_back(static_cast<double>(two(first, last, chunk).total()) -
                    static_cast<double>(one(first, last, chunk).total()));
    of_stage[ranks[chunk]] += bytes.back();
  }
  for (int chunk = 0; chunk < search.chunks(); ++chunk) {
    const int stage = ranks[chunk];
    const int capacity =
        memory.capacity(candidate.begin, stage, std::min(own, 2 * candidate.stages));
    const double share = of_stage[stage] > 0 ? bytes[chunk] / of_stage[stage] : 1;
    search.held.emplace_back(static_cast<std::size_t>(own), share / capacity);
  }
  search.memory = 1;
}

/// Returns the fastest candidate that fits; of equals, the first. Micro-batches in flight are
/// counted exactly here. All sampled steps are simulated, each in the candidate's own order.
std::optional<Candidate> fastest_that_fits(const PlanningProblem& problem, Workloads& workloads,
                                           std::vector<Candidate> candidates) {
  std::optional<Candidate> fastest;
  double min = 0;
  for (Candidate& candidate : candidates) {
    if (StageMemory(problem, candidate).too_full(candidate.begin)) continue;
    const Workload& workload =
        workloads.of(candidate.batch, candidate.replicas, candidate.selective);
    const double seconds = estimate_candidate(problem, workload, candidate).step_seconds;
    if (fastest && seconds >= min) continue;
    fastest = std::move(candidate);
    min = seconds;
  }
  return fastest;
}

}  // namespace

std::vector<std::vector<ChunkTimes>> times_by_size(const PlanningProblem& problem,
                                                   const Workload& workload,
                                                   const Candidate& candidate) {
  std::vector<std::vector<ChunkTimes>> sums(candidate.begin.size() - 1);
  std::vector<double> counts;
  for (std::size_t s = 0; s < workload.steps.size(); ++s)
    for (int replica = 0; replica < candidate.replicas; ++replica) {
      const int own = workload.steps[s].replicas[replica].micro_batches();
      if (own == 0) continue;
      const auto step = predict_replica(problem, workload, candidate, {s, replica}, {});
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

// find_schedule() sees one abstract replica: mean costs by size, the slowest links, and memory in
// shares of a stage. So its lists are not taken at once. They compete with the candidate's own
// lists and with those of all named schedules of the same chunks. Exact bytes and the simulation of
// all sampled steps decide.
std::optional<Candidate> with_found_schedule(const PlanningProblem& problem, Workloads& workloads,
                                             const Candidate& candidate) {
  const Workload& workload = workloads.of(candidate.batch, candidate.replicas, candidate.selective);
  const int own = busiest(problem, candidate);
  Candidate split = split_of(candidate, own);
  if (!problem.constraints.recomputed) recompute_to_fit(problem, workload, split);
  ScheduleProblem search{.chunk_rank = ranks_of_chunks(candidate),
                         .times = times_by_size(problem, workload, split)};
  for (auto& chunk : search.times) {
    if (chunk.empty()) return std::nullopt;
    chunk.resize(static_cast<std::size_t>(own), chunk.back());  // no sampled step may have as many
  }
  const bool keeps = problem.constraints.keeps_order || candidate.stages == 1;
  const auto sizes = order_of_replica(candidate.batch.order, candidate.replicas, own);
  if (keeps)
    for (auto& chunk : search.times) chunk = in_order(chunk, sizes);
  for (int chunk = 0; chunk < search.chunks(); ++chunk)
    search.transfers.push_back(
        transfer_after(problem, workload, candidate, search.chunk_rank, chunk));
  share_memory(StageMemory(problem, split), candidate, own, search);
  const FoundSchedule found = find_schedule(
      search,
      {.seed = problem.search.seed, .effort = problem.search.find_effort, .keep_order = keeps});
  std::vector<Candidate> candidates{with_lists(split, found.schedule)};
  if (!keeps)
    candidates.front().batch.order =
        order_of_step(found.order, candidate.replicas, candidate.batch.micro_batches);
  candidates.push_back(
      candidate.actions.empty()
          ? with_lists(candidate, make_schedule(candidate.schedule, candidate.stages, own))
          : candidate);
  for (const auto name : schedule_names())
    if (chunk_ranks(name, candidate.stages) == search.chunk_rank)
      candidates.push_back(with_lists(split, make_schedule(name, candidate.stages, own)));
  auto fastest = fastest_that_fits(problem, workloads, std::move(candidates));
  if (fastest && !problem.constraints.recomputed && !fastest->recomputed.empty())
    fastest->recompute_exact = false;  // fewer layers may suffice: these lists may hold less
  return fastest;
}

namespace {

bool has_same_chunks(const CandidateResult& one, const CandidateResult& other) {
  return one.candidate.devices == other.candidate.devices &&
         one.candidate.begin == other.candidate.begin &&
         ranks_of_chunks(one.candidate) == ranks_of_chunks(other.candidate) &&
         one.candidate.batch.micro_batches == other.candidate.batch.micro_batches;
}

/// Replaces the candidate's schedule by a found one. If none fits, `estimate` is left unset.
void find(const PlanningProblem& problem, Workloads& workloads, CandidateResult& result) {
  result.estimate.reset();
  const auto candidate = with_found_schedule(problem, workloads, result.candidate);
  if (!candidate) return;
  result.candidate = *candidate;
  result.estimate = estimate_candidate(
      problem, workloads.of(candidate->batch, candidate->replicas, candidate->selective),
      *candidate);
}

}  // namespace

std::vector<CandidateResult> candidates_with_found_schedules(
    const PlanningProblem& problem, Workloads& workloads,
    const std::vector<CandidateResult>& results) {
  std::vector<CandidateResult> found;
  std::vector<const CandidateResult*> waiting;
  for (const CandidateResult& result : results)
    if (result.estimate && (result.candidate.stages > 1 || problem.search.finds_only))
      waiting.push_back(&result);
  while (!waiting.empty() && found.size() < kLimits.found) {
    // With finds_only, one at a time until one is found, since time does not end this search.
    const bool needs_one = problem.search.finds_only && found.empty();
    const std::size_t room = needs_one ? 1 : kLimits.found - found.size();
    if (is_over(problem.search.time) && !needs_one) break;
    std::vector<CandidateResult> round;
    std::vector<const CandidateResult*>
        later;  // also those alike to one of the round, which may fail
    for (const CandidateResult* next : waiting) {
      const auto alike = [&](const CandidateResult& other) {
        return has_same_chunks(other, *next);
      };
      if (std::ranges::any_of(found, alike)) continue;
      if (round.size() < room && std::ranges::none_of(round, alike))
        round.push_back(*next);
      else
        later.push_back(next);
    }
    parallel_for(round.size(), problem.search.threads, [&](std::size_t i) {
      if (is_over(problem.search.time) && !needs_one)
        round[i].estimate.reset();
      else
        find(problem, workloads, round[i]);
    });
    std::ranges::copy_if(std::make_move_iterator(round.begin()),
                         std::make_move_iterator(round.end()), std::back_inserter(found),
                         [](const CandidateResult& one) { return one.estimate.has_value(); });
    waiting = std::move(later);
  }
  return found;
}

}  // namespace penstock::partition
