#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "partition/planner/choose/choice_estimate.h"

namespace penstock::partition {

/// A choice that is cut and placed, with its simulated step.
struct RankedChoice {
  PlanChoice choice;
  ChoiceEstimate estimate;
};

/// Selects the moves of a boundary that are simulated: all, or only the few that shorten the
/// longest path of the first sampled step.
enum class Moves { all, shortening_path };

/// True if refine() exchanges devices, which it does in a small cluster only.
bool exchanges_devices(const Cluster& cluster);

/// Returns the moves with which many choices can be refined in acceptable time. That is Moves::all
/// if devices are exchanged, or if no longest path bounds a step: without a barrier, or with shared
/// adapters.
Moves quick_moves(const PlanningProblem& problem);

/// Shortens the simulated step of a choice by local search. The choice stays within memory. If it
/// recomputes layers, and the problem does not fix them, each change chooses them again.
class ChoiceRefiner {
 public:
  /// Both must outlive this object. `workload` is that of the choices' batch and replicas.
  ChoiceRefiner(const PlanningProblem& problem, const Workload& workload, Moves moves = Moves::all);

  /// Tries to move each boundary between chunks once, and keeps a move if the step gets shorter.
  /// A boundary moves by one layer, or to the next place on either side whose message is no larger:
  /// poor cuts after layers with large outputs lie between good ones. Returns false if none moved.
  bool move_boundaries(RankedChoice& ranked) const;

  /// Moves boundaries until no move helps, from the choice's cut and from the cuts of
  /// chunk_loads(). Keeps the best result.
  void refine_cut(RankedChoice& ranked) const;

  /// Same as refine_cut(). In a small cluster it also exchanges two devices, or takes a free one,
  /// until neither helps.
  void refine(RankedChoice& ranked) const;

  /// Gives each placement the cut of another placement of the same stages if that shortens its
  /// step. If it makes no difference, the better placement's cut is taken. So placements that
  /// differ only by the noise of measured links are cut alike. `ranked` is sorted by simulated
  /// steps, before and after the call.
  void share_cuts(std::vector<RankedChoice>& ranked) const;

 private:
  /// Same as move_boundaries(), but returns the last boundary that moved; 0 if none did. Boundaries
  /// after `settled` were tried since the last move, and are skipped until another one moves.
  std::size_t move_unsettled(RankedChoice& ranked, std::size_t settled) const;
  bool exchange_devices(RankedChoice& ranked) const;
  /// Replaces `ranked` by `other`, with the recomputation that it needs, if that fits and its step
  /// is shorter. Returns true if it did.
  bool take_if_shorter(RankedChoice& ranked, PlanChoice other) const;
  /// True if `other` does not shorten the longest path of the first sampled step, even without
  /// recomputation. `path` caches that of `ranked`.
  bool keeps_path(const RankedChoice& ranked, PlanChoice other, std::optional<double>& path) const;
  /// True if a change of the choice chooses its recomputed layers again.
  bool chooses_recomputation(const PlanChoice& choice) const;
  /// Returns `other`, with the recomputation that it needs, if it fits and its step is shorter than
  /// `seconds`. `slowest` names each sampled step's slowest replica of a similar choice.
  std::optional<RankedChoice> within(PlanChoice other, double seconds,
                                     const std::vector<int>& slowest) const;

  const PlanningProblem& problem_;
  const Workload& workload_;
  Moves moves_;
  std::unique_ptr<ChoiceEstimator> estimator_;
};

}  // namespace penstock::partition
