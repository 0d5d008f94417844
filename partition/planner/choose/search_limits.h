#pragma once

#include <array>
#include <cstddef>

namespace penstock::partition {

/// The thresholds of the search for a plan. They trade time of planning for speed of the plan; no
/// limit makes a plan invalid. Factors are ratios of seconds, and counts are numbers of candidates
/// unless a comment says otherwise.
struct SearchLimits {
  // Trying: candidates are placed, cut and simulated over one step.

  /// Unplaced candidates that are placed. 24 changed none of ten plans, and took up to a third less
  /// time. 96 made the plan for 64 devices 7 % faster, and took a third more.
  std::size_t placed = 48;
  /// A closed form may be wrong by this factor against simulation: messages may hide beside
  /// computing. Candidates above this multiple of the best closed form are not tried. 3 changed
  /// none of ten plans, and took up to twice the time.
  double closed_form = 1.5;
  /// The same without a barrier, where steps also overlap by the pipeline's fill time.
  double closed_form_without_barrier = 3;
  /// Micro-batches that stay on the device when others are offloaded. More are faster, so they are
  /// tried in this order until memory no longer binds.
  std::array<int, 3> resident = {4, 3, 2};
  /// Devices of the largest cluster on which a placement is proven. On larger ones a proof takes
  /// longer than the rest of planning. Without proofs, some of 40 plans for three unlike devices
  /// were up to 1.4 % slower; plans for 16 devices took a third to three quarters less time.
  int proven_devices = 16;
  /// Stages up to which all orders of a placement are tried if memories differ: 3! - 1 = 5 more
  /// placements. With more stages, only the reverse is tried. With the reverse alone, 5 of 40 plans
  /// for three unlike devices were 1.4 to 3.3 % slower.
  std::size_t reordered_stages = 3;
  /// Unplaced candidates that can't fit, for which the lacking memory is computed. Only the report
  /// shows them.
  std::size_t explained = 4;
  /// Unplaced candidates that threads try at once. Each is judged by the results of earlier rounds
  /// alone, so the number of threads changes no plan.
  std::size_t tried_at_once = 8;

  // Recomputation: a chunk's cheapest layers to recompute, by labels at each layer.

  /// Labels at a layer in a first round, whose result bounds the exact one.
  std::size_t few_labels = 30;
  /// Labels at a layer in the exact round, in a short chunk. 30 changed none of ten plans.
  std::size_t max_labels = 1000;
  /// Labels at a layer times the square of the layers. It keeps a chunk below a few seconds.
  std::size_t labels_times_layers_squared = 3'000'000;
  /// Layers of the longest sequence that is searched by labels. A cut of a longer one asks for tens
  /// of thousands of chunks, which get the greedy choice. With that choice alone, one of 40 models
  /// no longer fitted into three unlike devices.
  std::size_t labelled_layers = 64;

  // Weighing: the best candidates are simulated over all sampled steps, and refined.

  /// The first sampled step may mislead by this factor. Candidates within it of the best are
  /// simulated over all sampled steps. An assumption. 1 changed none of ten plans.
  double one_step = 1.25;
  /// Candidates that are simulated over all sampled steps and refined, however far from the best.
  /// With 6, one of ten plans was 1 % slower.
  std::size_t refined = 12;
  /// The same for candidates that offload without being asked to, which have a quota of their own.
  std::size_t refined_offloads = 4;
  /// Moving boundaries shortens no step by more than this factor. Refining ends at candidates
  /// beyond it. An assumption: 1 changed none of ten plans. It is not used where devices are
  /// exchanged, which may gain more.
  double refinement = 1.03;
  /// Candidates for which all moves of boundaries are tried in the end, if refinement left some
  /// out. Without those moves, ten plans were up to 0.01 % slower.
  std::size_t settled = 4;
  /// Candidates that threads refine at once, as tried_at_once.
  std::size_t refined_at_once = 4;
  /// Devices of the largest cluster whose pairs are exchanged: 66 pairs of 12, each simulated.
  /// Without exchanges one of ten plans was 1 % slower, and small clusters took a fifth less time.
  int exchanged_devices = 12;
  /// A step is shorter only below this multiple: it absorbs rounding, so that no search circles.
  double shorter = 1 - 1e-9;
  /// Candidates that get a found schedule, one for each layout of chunks. With 1, the slowest of
  /// ten plans was 1.3 % slower, and planning took up to 60 % less time.
  std::size_t found = 4;

  // Ranking: placements of one grid, for `penstock search`.

  /// Placements that are simulated: this many times as many as are wanted, and no fewer than
  /// min_ranked.
  std::size_t ranked_per_wanted = 4, min_ranked = 64;
  /// Placements that are refined, as many as are wanted but within these numbers.
  std::size_t min_ranked_refined = 12, max_ranked_refined = 64;

  // Explaining.

  /// Candidates without enough memory that are simulated as if they had it, by closed form.
  std::size_t roomy = 32;
  /// Halvings of micro-batches that are tried for advice if nothing fits.
  int halvings = 6;
  /// Candidates that are simulated again under each assumption about costs.
  std::size_t compared = 4;

  // A measured layer sequence: see choose_sequence().

  /// Passes of a step that is simulated: stages × micro-batches of all replicas that differ.
  int sequence_passes = 2048;
  /// Grids that are simulated beside the best placement's own.
  std::size_t sequence_grids = 5;
  /// Slots of the largest grid that is placed exactly, as proven_devices.
  int sequence_proven_slots = 16;
};

/// The limits of every search.
inline constexpr SearchLimits kLimits;

}  // namespace penstock::partition
