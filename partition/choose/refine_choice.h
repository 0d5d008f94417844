#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "partition/choose/choice_estimate.h"

namespace penstock::partition {

/// A choice that is cut and placed, and what simulation says of it.
struct RankedChoice {
  PlanChoice choice;
  ChoiceEstimate estimate;
};

/// Which moves of a boundary are simulated: all, or those that shorten the longest path of the
/// first sampled step, which are few.
enum class Moves { all, shortening_path };

/// Whether refine() exchanges devices: in a small cluster.
bool exchanges_devices(const Cluster& cluster);

/// Those with which many choices can be refined: all where devices are exchanged, and where no path
/// bounds a step, without a barrier or with shared adapters.
Moves quick_moves(const PlanningProblem& problem);

/// Makes simulated steps shorter by small changes of a choice, which stays within memory: unless
/// the problem says which layers are recomputed, they are chosen anew for a changed choice that
/// has some.
class ChoiceRefiner {
 public:
  /// Both must outlive this; `workload` is that of the choices' batch and replicas.
  ChoiceRefiner(const PlanningProblem& problem, const Workload& workload, Moves moves = Moves::all);

  /// Moves each boundary between chunks once, where a step gets shorter: by a layer, or to the next
  /// place on either side where no more crosses, since cuts behind layers with large outputs lie
  /// between good ones. False where none did.
  bool move_boundaries(RankedChoice& ranked) const;

  /// The same, until it no longer helps, from the choice's cut and from those of chunk_loads().
  void refine_cut(RankedChoice& ranked) const;

  /// The same, and of a small cluster exchanges two devices or takes a free one, until neither
  /// helps.
  void refine(RankedChoice& ranked) const;

  /// Gives each of some placements of the same stages the cut of another one where that makes its
  /// step shorter, and also where it makes no difference: so those that are alike, but for what
  /// measuring their links is off by, have the same. `ranked` is in order of simulated steps, and
  /// is put in order again.
  void share_cuts(std::vector<RankedChoice>& ranked) const;

 private:
  /// As move_boundaries(): the last boundary that moved, 0 where none did. Boundaries behind
  /// `settled` have not helped since the last one moved, so that they are left out until one does.
  std::size_t move_unsettled(RankedChoice& ranked, std::size_t settled) const;
  bool exchange_devices(RankedChoice& ranked) const;
  /// Where it fits, with the recomputation that it needs; nothing unless its step is shorter than
  /// that.
  bool take_if_shorter(RankedChoice& ranked, PlanChoice other) const;
  /// Whether the first sampled step's longest path, which of `ranked` is `path` once that is known,
  /// gets no shorter, with as little recomputation as `other` may need.
  bool keeps_path(const RankedChoice& ranked, PlanChoice other, std::optional<double>& path) const;
  bool chooses_recomputation(const PlanChoice& choice) const;
  std::optional<RankedChoice> within(PlanChoice other, double seconds,
                                     const std::vector<int>& slowest) const;

  const PlanningProblem& problem_;
  const Workload& workload_;
  Moves moves_;
  std::unique_ptr<ChoiceEstimator> estimator_;
};

}  // namespace penstock::partition
