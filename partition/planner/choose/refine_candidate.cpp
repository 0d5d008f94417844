#include "partition/planner/choose/refine_candidate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "partition/planner/choose/cut_candidate.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/planner/choose/unplaced_candidates.h"
#include "partition/planner/placement/ranking.h"
#include "partition/planner/placement/symmetry.h"

namespace penstock::partition {
namespace {

/// Returns the places to which the boundary before chunk `b` may move: one layer on, and the next
/// place where the message is no larger than now, on either side.
std::vector<int> other_places(const SequenceProfile& sequence, const std::vector<int>& begin,
                              std::size_t b) {
  const auto crossing = [&](int layer) {
    return sequence.layers[static_cast<std::size_t>(layer - 1)].activation_bytes;
  };
  std::vector<int> places;
  for (const int way : {-1, 1}) {
    int place = begin[b] + way;
    const auto is_inside = [&] { return place > begin[b - 1] && place < begin[b + 1]; };
    if (is_inside()) places.push_back(place);
    while (is_inside() && crossing(place) > crossing(begin[b])) place += way;
    if (is_inside() && place != places.back()) places.push_back(place);
  }
  return places;
}

bool same_rates(const LinkRates& one, const LinkRates& other) {
  return one.latency == other.latency && one.bandwidth == other.bandwidth;
}

/// True if exchanging the two devices changes nothing.
bool alike(const Cluster& cluster, int one, int two) {
  const Device &a = cluster.devices[one], &b = cluster.devices[two];
  if (a.speed != b.speed || a.memory != b.memory) return false;
  if (!cluster.adapters.empty() && cluster.adapters[one] != cluster.adapters[two]) return false;
  if (!same_rates(cluster.link(one, two), cluster.link(two, one))) return false;
  for (int other = 0; other < cluster.size(); ++other) {
    if (other == one || other == two) continue;
    if (!same_rates(cluster.link(one, other), cluster.link(two, other)) ||
        !same_rates(cluster.link(other, one), cluster.link(other, two)))
      return false;
  }
  return true;
}

}  // namespace

bool exchanges_devices(const Cluster& cluster) {
  return cluster.size() <= kLimits.exchanged_devices;
}

Moves quick_moves(const PlanningProblem& problem) {
  const bool bounded =
      problem.constraints.barrier != Barrier::none && problem.cluster.adapters.empty();
  return bounded && !exchanges_devices(problem.cluster) ? Moves::shortening_first_step : Moves::all;
}

// First-improvement local search; its objective is the simulated step. A change is rejected as
// early as possible. The replicas that were slowest before are simulated first, since each bounds
// the step from below. A full simulation and a check of memory come last.
// Invariant: a Candidate fits into memory, and its step never gets longer.
CandidateRefiner::CandidateRefiner(const PlanningProblem& problem, const Workload& workload,
                                   Moves moves)
    : problem_(problem),
      workload_(workload),
      moves_(moves),
      estimator_(std::make_unique<CandidateEstimator>(problem, workload)) {}

bool CandidateRefiner::move_boundaries(CandidateResult& ranked) const {
  return move_unsettled(ranked, ranked.candidate.begin.size()) > 0;
}

std::size_t CandidateRefiner::move_unsettled(CandidateResult& ranked, std::size_t settled) const {
  std::size_t moved = 0;
  std::optional<double> first_step;
  for (std::size_t b = 1; b + 1 < ranked.candidate.begin.size(); ++b) {
    if (moved == 0 && b > settled) break;
    for (const int place : other_places(workload_.mean, ranked.candidate.begin, b)) {
      if (is_over(problem_.search.time)) return 0;
      CandidateResult other = ranked;
      other.candidate.begin[b] = place;
      PredictedPipelines known;
      if (moves_ == Moves::shortening_first_step &&
          keeps_first_step(ranked, other.candidate, first_step, known))
        continue;
      if (!take_if_shorter(ranked, std::move(other), std::move(known))) continue;
      moved = b;
      first_step.reset();
    }
  }
  return moved;
}

bool CandidateRefiner::exchange_devices(CandidateResult& ranked) const {
  if (!exchanges_devices(problem_.cluster)) return false;
  const int devices = problem_.cluster.size();
  bool better = false;
  for (int one = 0; one < devices; ++one)
    for (int two = one + 1; two < devices; ++two) {
      if (is_over(problem_.search.time)) return false;
      if (alike(problem_.cluster, one, two)) continue;
      CandidateResult other = ranked;
      bool used = false;
      for (auto& stage : other.candidate.devices)
        for (int& device : stage) {
          used |= device == one || device == two;
          device = device == one ? two : device == two ? one : device;
        }
      if (used) better |= take_if_shorter(ranked, std::move(other));
    }
  return better;
}

void CandidateRefiner::refine_cut(CandidateResult& ranked) const {
  const auto climb = [&](CandidateResult& from) {
    std::size_t moved = from.candidate.begin.size();
    while (moved > 0) moved = move_unsettled(from, moved);
  };
  const std::vector<int> given = ranked.candidate.begin;
  climb(ranked);
  for (const ChunkCutProblem& way : chunk_loads(problem_, workload_, ranked.candidate)) {
    if (is_over(problem_.search.time)) return;
    CandidateResult other = ranked;
    other.candidate.begin = *cut_chunks(way);
    if (other.candidate.begin == given || other.candidate.begin == ranked.candidate.begin) continue;
    auto start = within(std::move(other), std::numeric_limits<double>::infinity());
    if (!start) continue;
    climb(*start);
    if (start->estimate->step_seconds < ranked.estimate->step_seconds * kLimits.shorter)
      ranked = std::move(*start);
  }
}

void CandidateRefiner::refine(CandidateResult& ranked) const {
  refine_cut(ranked);
  while (exchange_devices(ranked)) refine_cut(ranked);
}

void CandidateRefiner::share_cuts(std::vector<CandidateResult>& ranked) const {
  std::vector<Candidate> cuts;  // the best placement's first
  for (const CandidateResult& one : ranked) {
    const bool known = std::ranges::any_of(
        cuts, [&](const Candidate& cut) { return cut.begin == one.candidate.begin; });
    if (!known) cuts.push_back(one.candidate);
  }
  for (CandidateResult& one : ranked) {
    std::vector<CandidateResult> offered;
    double min = one.estimate->step_seconds;
    // `offered` holds the cuts that came near the shortest step so far, in the order of `cuts`.
    for (const Candidate& cut : cuts) {
      if (cut.begin == one.candidate.begin) {
        offered.push_back(one);
        continue;
      }
      CandidateResult other = one;
      other.candidate.begin = cut.begin;
      auto fitted = within(std::move(other), min * (1 + kSameStep));
      if (!fitted) continue;
      min = std::min(min, fitted->estimate->step_seconds);
      offered.push_back(std::move(*fitted));
    }
    one = *std::ranges::find_if(offered, [&](const CandidateResult& offer) {
      return offer.estimate->step_seconds <= min * (1 + kSameStep);
    });
  }
  std::ranges::stable_sort(ranked, {},
                           [](const CandidateResult& one) { return one.estimate->step_seconds; });
}

bool CandidateRefiner::keeps_first_step(const CandidateResult& ranked, Candidate other,
                                        std::optional<double>& first_step,
                                        PredictedPipelines& known) const {
  if (chooses_recomputation(other)) other.recomputed.clear();
  const std::vector<int> first(1, ranked.estimate->slowest.front());  // sampled step alone
  if (!first_step) {
    PredictedPipelines own;
    first_step = estimator_->min_seconds(ranked.candidate, std::numeric_limits<double>::infinity(),
                                         first, own);
  }
  const double enough = *first_step * kLimits.shorter;
  return estimator_->min_seconds(other, enough, first, known) >= enough;
}

bool CandidateRefiner::chooses_recomputation(const Candidate& candidate) const {
  return !problem_.constraints.recomputed && !candidate.recomputed.empty();
}

bool CandidateRefiner::take_if_shorter(CandidateResult& ranked, CandidateResult other,
                                       PredictedPipelines known) const {
  auto better =
      within(std::move(other), ranked.estimate->step_seconds * kLimits.shorter, std::move(known));
  if (!better) return false;
  ranked = std::move(*better);
  return true;
}

std::optional<CandidateResult> CandidateRefiner::within(CandidateResult other, double seconds,
                                                        PredictedPipelines known) const {
  Candidate& candidate = other.candidate;
  const bool free = chooses_recomputation(candidate);
  if (free) candidate.recomputed.clear();  // the least that it may need: a lower bound
  if (seconds < std::numeric_limits<double>::infinity() &&
      estimator_->takes(candidate, seconds, other.estimate->slowest, known))
    return std::nullopt;
  other.estimate = estimator_->estimate(candidate, 1000, std::move(known));
  if (other.estimate->step_seconds >= seconds) return std::nullopt;
  if (free) {
    if (!recompute_to_fit(problem_, workload_, candidate)) return std::nullopt;
    other.estimate = estimator_->estimate(candidate);
    if (other.estimate->step_seconds >= seconds) return std::nullopt;
  } else if (StageMemory(problem_, candidate).too_full(candidate.begin)) {
    return std::nullopt;
  }
  return other;
}

std::vector<CandidateResult> rank_candidates(const PlanningProblem& problem, const Candidate& like,
                                             std::size_t count) {
  Workloads workloads(problem);
  const Workload& workload = workloads.of(like.batch, like.replicas, like.selective);
  PlacementProblem closed = closed_form_problem(problem, workload, like.batch);
  // No limits here: cut_candidate() checks memory, by the runtime's bytes.
  for (Device& device : closed.cluster.devices)
    device.memory = std::numeric_limits<double>::infinity();
  RankingOptions options{.count = std::max(kLimits.min_ranked, kLimits.ranked_per_wanted * count)};
  options.effort.seed = problem.search.seed;
  options.effort.time = problem.search.time;

  const bool free = !problem.constraints.recomputed && !like.recomputed.empty();
  const Recomputing recomputing = free ? Recomputing::free : Recomputing::as_chosen;

  const Symmetry symmetry(problem.cluster);
  const Placement own = like.begin.empty() ? Placement() : symmetry.canonical(like.devices);
  std::vector<CandidateResult> ranked;
  if (!like.begin.empty()) ranked.push_back({like, estimate_candidate(problem, workload, like)});
  for (PlacedCut& placed : rank_placements(closed, {like.stages, like.replicas}, options)) {
    if (!ranked.empty() && is_over(problem.search.time)) break;
    if (!like.begin.empty() && symmetry.canonical(placed.devices) == own) continue;
    Candidate candidate = like;
    candidate.devices = std::move(placed.devices);
    CandidateCut cut = cut_candidate(problem, workload, candidate, recomputing);
    if (!cut.fits) continue;
    candidate.begin = std::move(cut.begin);
    candidate.recomputed = std::move(cut.recomputed);
    candidate.recompute_exact = cut.recompute_exact;
    ranked.push_back({candidate, estimate_candidate(problem, workload, candidate)});
  }
  const auto seconds = [](const CandidateResult& one) { return one.estimate->step_seconds; };
  std::ranges::stable_sort(ranked, {}, seconds);
  ranked.resize(std::min(ranked.size(), std::max(count, kLimits.min_ranked_refined)));
  const auto behind = ranked.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(ranked.size(), kLimits.max_ranked_refined));
  const std::vector<CandidateResult> rest(behind, ranked.end());
  ranked.erase(behind, ranked.end());
  const CandidateRefiner refiner(problem, workload);
  for (CandidateResult& one : ranked) refiner.refine_cut(one);
  std::ranges::stable_sort(ranked, {}, seconds);
  refiner.share_cuts(ranked);
  ranked.insert(ranked.end(), rest.begin(), rest.end());
  std::ranges::stable_sort(ranked, {}, seconds);
  ranked.resize(std::min(ranked.size(), count));
  return ranked;
}

}  // namespace penstock::partition
