#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "partition/planner/choose/candidate_estimate.h"

namespace penstock::partition {

/// Selects the moves of a boundary that are simulated over all sampled steps: all, or only the few
/// that shorten the first one for the replica that was slowest in it.
enum class Moves { all, shortening_first_step };

/// True if refine() exchanges devices, which it does in a small cluster only.
bool exchanges_devices(const Cluster& cluster);

/// Returns the moves with which many candidates can be refined in acceptable time. That is
/// Moves::all if devices are exchanged, without a barrier, or with shared adapters.
Moves quick_moves(const PlanningProblem& problem);

/// Shortens the simulated step of a candidate by local search. Candidates are cut, placed and
/// simulated, and stay within memory. If one recomputes layers, and the problem does not fix them,
/// each change chooses them again.
class CandidateRefiner {
 public:
  /// Both must outlive this object. `workload` is that of the candidates' batch and replicas.
  CandidateRefiner(const PlanningProblem& problem, const Workload& workload,
                   Moves moves = Moves::all);

  /// Tries to move each boundary between chunks once, and keeps a move if the step gets shorter.
  /// A boundary moves by one layer, or to the next place on either side whose message is no larger:
  /// poor cuts after layers with large outputs lie between good ones. Returns false if none moved.
  bool move_boundaries(CandidateResult& ranked) const;

  /// Moves boundaries until no move helps, from the candidate's cut and from the cuts of
  /// chunk_loads(). Keeps the best result.
  void refine_cut(CandidateResult& ranked) const;

  /// Same as refine_cut(). In a small cluster it also exchanges two devices, or takes a free one,
  /// until neither helps.
  void refine(CandidateResult& ranked) const;

  /// Gives each placement the cut of another placement of the same stages if that shortens its
  /// step. If it makes no difference, the better placement's cut is taken. So placements that
  /// differ only by the noise of measured links are cut alike. `ranked` is sorted by simulated
  /// steps, before and after the call.
  void share_cuts(std::vector<CandidateResult>& ranked) const;

 private:
  /// Same as move_boundaries(), but returns the last boundary that moved; 0 if none did. Boundaries
  /// after `settled` were tried since the last move, and are skipped until another one moves.
  std::size_t move_unsettled(CandidateResult& ranked, std::size_t settled) const;
  bool exchange_devices(CandidateResult& ranked) const;
  /// Replaces `ranked` by `other`, with the recomputation that it needs, if that fits and its step
  /// is shorter. Returns true if it did.
  bool take_if_shorter(CandidateResult& ranked, CandidateResult other,
                       PredictedPipelines known = {}) const;
  /// True if `other` does not shorten the first sampled step of the replica that was slowest in it,
  /// even without recomputation. `first_step` caches that of `ranked`, in seconds.
  bool keeps_first_step(const CandidateResult& ranked, Candidate other,
                        std::optional<double>& first_step, PredictedPipelines& known) const;
  /// True if a change of the candidate chooses its recomputed layers again.
  bool chooses_recomputation(const Candidate& candidate) const;
  /// Returns `other`, with the recomputation that it needs, if it fits and its step is shorter than
  /// `seconds`. Its estimate is that of a similar candidate, whose slowest replicas are tried
  /// first.
  std::optional<CandidateResult> within(CandidateResult other, double seconds,
                                        PredictedPipelines known = {}) const;

  const PlanningProblem& problem_;
  const Workload& workload_;
  Moves moves_;
  std::unique_ptr<CandidateEstimator> estimator_;
};

/// Returns at most `count` placements of `like`'s stages and replicas, by simulated seconds of a
/// step. rank_placements() proposes them by the closed form. cut_candidate() cuts each within
/// memory, with the cheapest recomputation of its own if `like` has some. CandidateRefiner refines
/// the cuts of the best 64 and shares them. Devices that `like` leaves free may be used. Returns
/// nothing if none fits.
std::vector<CandidateResult> rank_candidates(const PlanningProblem& problem, const Candidate& like,
                                             std::size_t count);

}  // namespace penstock::partition
