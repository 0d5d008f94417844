#include "partition/planner/choose/cut_candidate.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "partition/planner/choose/candidate_estimate.h"
#include "partition/planner/choose/recompute_search.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/planner/choose/unplaced_candidates.h"

namespace penstock::partition {
namespace {

/// The data that the load functions share.
struct Costs {
  SequenceLoad sequence;
  std::vector<StageCost> stages;
  std::vector<int> ranks;  // rank of each chunk
  double overlap = 1;

  const StageCost& of(int chunk) const { return stages[ranks[chunk]]; }
};

ChunkWork work_of(const Costs& costs) {
  ChunkWork work;
  for (int layer = 0; layer <= costs.sequence.size(); ++layer)
    work.before.push_back(costs.sequence.work(0, layer));
  for (int chunk = 0; chunk < std::ssize(costs.ranks); ++chunk)
    work.speeds.push_back(costs.of(chunk).speed());
  return work;
}

/// Load of a chunk if its stage computes while its messages are under way.
double hidden_load(const Costs& costs, int first, int last, int chunk) {
  double max = 0;
  for (const Pace& pace : costs.of(chunk).paces) {
    const double share = 1.0 / costs.sequence.passes();  // one message of those at a boundary
    const double enters = share * pace.enter.seconds(costs.sequence.crossing(first));
    const double leaves = share * pace.leave.seconds(costs.sequence.crossing(last));
    const double sending = (1 - costs.overlap) * (enters + leaves);
    max =
        std::max({max, pace.per_work * costs.sequence.work(first, last) + sending, enters, leaves});
  }
  return max + costs.of(chunk).reduction.seconds(costs.sequence.parameters(first, last));
}

}  // namespace

std::vector<ChunkCutProblem> chunk_loads(const PlanningProblem& problem, const Workload& workload,
                                         const Candidate& candidate) {
  const PlacementProblem closed = closed_form_problem(problem, workload, candidate.batch);
  const auto costs =
      std::make_shared<Costs>(Costs{closed.sequence, stage_costs(closed, candidate.devices),
                                    ranks_of_chunks(candidate), problem.cluster.overlap});
  ChunkCutProblem cut{
      .layers = problem.model.sequence->size(),
      .chunks = static_cast<int>(costs->ranks.size()),
      .runs = static_cast<double>(micro_batches_of(closed, {candidate.stages, candidate.replicas})),
      .rank = costs->ranks,
      .work = work_of(*costs)};
  ChunkCutProblem other = cut;
  if (cut.chunks == candidate.stages) {
    cut.load = [costs](int first, int last, int chunk) {
      return costs->of(chunk).load(costs->sequence, first, last);
    };
    other.load = [costs](int first, int last, int chunk) {
      return hidden_load(*costs, first, last, chunk);
    };
  } else {
    other.rank.clear();
  }
  return {cut, other};
}

namespace {

std::vector<double> forward_seconds(const Workload& workload) {
  std::vector<double> seconds;
  for (const LayerProfile& layer : workload.mean.layers) seconds.push_back(1e-3 * layer.forward_ms);
  return seconds;
}

/// Finds the extra work with which a chunk fits into memory: none, or recomputation.
class Fitting {
 public:
  Fitting(const PlanningProblem& problem, const Workload& workload, const Candidate& candidate,
          Recomputing recomputing)
      : memory(problem, without_recomputation(candidate, recomputing)),
        layers_(problem.model.sequence->size()),
        free_(recomputing == Recomputing::free),
        search_(memory.bytes(), forward_seconds(workload)) {}

  /// Returns the extra seconds on a device of speed 1; nothing if the chunk can't fit.
  std::optional<double> seconds(int first, int last, int chunk) {
    if (!free_) return memory.fits(first, last, chunk) ? std::optional(0.0) : std::nullopt;
    const auto& found = search_.within(first, last, chunk, memory.limit_of_chunk(chunk));
    return found ? std::optional(found->seconds) : std::nullopt;
  }

  /// Returns the layers to recompute under a cut; nothing if some chunk can't fit.
  std::optional<ChosenLayers> recomputed(const std::vector<int>& begin) {
    ChosenLayers all(layers_, false);
    bool any = false;
    for (int chunk = 0; chunk < memory.chunks(); ++chunk) {
      const auto& found =
          search_.within(begin[chunk], begin[chunk + 1], chunk, memory.limit_of_chunk(chunk));
      if (!found) return std::nullopt;
      any |= !found->layers.empty();
      std::copy(found->layers.begin(), found->layers.end(), all.begin() + begin[chunk]);
    }
    return any ? all : ChosenLayers();
  }

  /// Returns Candidate::recompute_exact. With several chunks on a rank, each gets a fixed share of
  /// its memory, so the result is not exact.
  bool exact(const ChosenLayers& recomputed) const {
    return !free_ || recomputed.empty() || (search_.exact() && memory.chunks() == memory.stages());
  }

  const StageMemory memory;

 private:
  static Candidate without_recomputation(Candidate candidate, Recomputing recomputing) {
    if (recomputing == Recomputing::free) candidate.recomputed.clear();
    return candidate;
  }

  int layers_;
  bool free_;
  RecomputeSearch search_;
};

/// Speed of each stage's slowest device.
std::vector<double> stage_speeds(const PlanningProblem& problem, const Candidate& candidate) {
  std::vector<double> speeds;
  for (const auto& devices : candidate.devices) {
    double& slowest = speeds.emplace_back(problem.cluster.devices[devices.front()].speed);
    for (const int device : devices)
      slowest = std::min(slowest, problem.cluster.devices[device].speed);
  }
  return speeds;
}

/// Keeps the fastest of the offered cuts by a simulated step; of equals, the first. A single cut is
/// not simulated.
class FastestCut {
 public:
  explicit FastestCut(CandidateEstimator& estimator) : estimator_(estimator) {}

  void offer(Candidate candidate) {
    if (!best_) {
      best_ = std::move(candidate);
      return;
    }
    if (candidate.begin == best_->begin) return;
    if (!estimate_) estimate_ = estimator_.estimate(*best_, 1);
    CandidateEstimate estimate = estimator_.estimate(candidate, 1);
    if (estimate.step_seconds >= estimate_->step_seconds) return;
    best_ = std::move(candidate);
    estimate_ = std::move(estimate);
  }

  const std::optional<Candidate>& best() const { return best_; }
  /// The best cut's estimate over one step; unset if it was never compared.
  const std::optional<CandidateEstimate>& estimate() const { return estimate_; }

 private:
  CandidateEstimator& estimator_;
  std::optional<Candidate> best_;
  std::optional<CandidateEstimate> estimate_;
};

struct TimeIsOver {};

/// Runs cut_chunks(), and leaves it by an exception from `extra` once the time is over. `ended` is
/// set in that case.
std::optional<std::vector<int>> cut_in_time(ChunkCutProblem way, const TimeLimit* time,
                                            bool& ended) {
  way.extra = [extra = std::move(way.extra), time](int first, int last, int chunk) {
    if (is_over(time)) throw TimeIsOver();
    return extra(first, last, chunk);
  };
  try {
    return cut_chunks(way);
  } catch (const TimeIsOver&) {
    ended = true;
    return std::nullopt;
  }
}

}  // namespace

const CutCache::Cuts& CutCache::of(const Workload& workload, const Candidate& candidate,
                                   const std::vector<int>& ranks,
                                   const std::vector<ChunkCutProblem>& loads) {
  return known_.of({&workload, candidate.devices, ranks}, [&] {
    Cuts cuts;
    for (const ChunkCutProblem& way : loads) cuts.begins.push_back(*cut_chunks(way));
    cuts.closed_form = closed_form(loads.front(), cuts.begins.front());
    return cuts;
  });
}

CandidateCut cut_candidate(const PlanningProblem& problem, const Workload& workload,
                           const Candidate& candidate, Recomputing recomputing) {
  CandidateEstimator estimator(problem, workload);
  CutCache known;
  return cut_candidate(problem, workload, candidate, recomputing, {estimator, known});
}

// The cut without limits on memory is cheap and cached, so it comes first: if it fits, it is the
// answer. Otherwise the same programmes run with the memory of each range as a constraint, and with
// the seconds of recomputation as part of its load. A chunk's own limit is a share of its stage's
// memory, so the finished cut is checked once more for whole stages.
CandidateCut cut_candidate(const PlanningProblem& problem, const Workload& workload,
                           const Candidate& candidate, Recomputing recomputing, const CutAid& aid) {
  Fitting fitting(problem, workload, candidate, recomputing);
  const StageMemory& memory = fitting.memory;
  std::vector<ChunkCutProblem> ways = chunk_loads(problem, workload, candidate);
  Candidate wanted = candidate;
  if (recomputing == Recomputing::free) wanted.recomputed.clear();

  FastestCut fastest(aid.estimator);
  CandidateCut chosen{.recomputed = wanted.recomputed};
  const CutCache::Cuts& best = aid.known.of(workload, candidate, memory.stage_of_chunks(), ways);
  chosen.closed_form = chosen.min_closed_form = best.closed_form;
  for (const std::vector<int>& begin : best.begins) {
    wanted.begin = begin;
    fastest.offer(wanted);
  }
  chosen.begin = fastest.best()->begin;
  chosen.estimate = fastest.estimate();
  const auto full = memory.too_full(chosen.begin);
  if (!full) return chosen;
  chosen.lacking_stage = *full;
  chosen.lacking_bytes = memory.of_stages(chosen.begin)[*full] - memory.limit(*full);

  FastestCut fitted(aid.estimator);
  const std::vector<double> speeds = stage_speeds(problem, candidate);
  for (bool first_way = true; ChunkCutProblem & way : ways) {
    way.fullness = std::bind_front(&StageMemory::fullness_at_least, &memory);
    way.extra = [&](int first, int last, int chunk) -> std::optional<double> {
      const auto seconds = fitting.seconds(first, last, chunk);
      if (!seconds) return std::nullopt;
      return *seconds / speeds[memory.stage_of(chunk)];
    };
    const auto within = cut_in_time(way, aid.time, chosen.ended);
    if (!within) break;  // nor does one for the other loads
    if (std::exchange(first_way, false)) chosen.closed_form = closed_form(way, *within);
    wanted.begin = *within;
    if (recomputing == Recomputing::free) wanted.recomputed = *fitting.recomputed(*within);
    if (!StageMemory(problem, wanted).too_full(*within)) fitted.offer(wanted);
  }
  chosen.fits = fitted.best().has_value();
  if (!chosen.fits) return chosen;
  chosen.begin = fitted.best()->begin;
  chosen.estimate = fitted.estimate();
  chosen.recomputed = fitted.best()->recomputed;
  chosen.recompute_exact = fitting.exact(chosen.recomputed);
  chosen.memory_bound = true;
  return chosen;
}

bool recompute_to_fit(const PlanningProblem& problem, const Workload& workload,
                      Candidate& candidate) {
  Fitting fitting(problem, workload, candidate, Recomputing::free);
  if (!fitting.memory.too_full(candidate.begin)) {
    candidate.recomputed.clear();
    candidate.recompute_exact = true;
    return true;
  }
  const auto recomputed = fitting.recomputed(candidate.begin);
  if (!recomputed) return false;
  Candidate fitted = candidate;
  fitted.recomputed = *recomputed;
  fitted.recompute_exact = fitting.exact(fitted.recomputed);
  if (StageMemory(problem, fitted).too_full(fitted.begin)) return false;
  candidate = std::move(fitted);
  return true;
}

}  // namespace penstock::partition
