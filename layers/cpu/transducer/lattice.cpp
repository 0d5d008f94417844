#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/log_add.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/sizes.h"
#include "layers/ops/transducer.h"
#include "layers/scratch.h"

// Loss and occupancies of a transducer by the forward-backward algorithm (Graves 2012, with the
// durations of Xu et al. 2023), one utterance at a time, in logarithms.
//
// The forward pass takes the cells in their order, frame by frame and label by label. All arcs lead
// to later cells, so the sum α of a cell over the paths to it is complete when its turn comes, and
// the cell then adds itself to where its arcs lead. The end is one cell more. The backward pass
// takes the cells in reverse. It needs α of a cell for the last time where it computes β, the sum
// over the paths from the cell, so β takes α's place.
//
// A pass costs the utterance's cells times the arcs of a cell. Sums are FP64: they grow with the
// length of a path, and their differences are what counts.

namespace penstock::layers {
namespace {

constexpr double kLogZero = -std::numeric_limits<double>::infinity();

template <class T>
struct Lattice {
  const TransducerArcs& arcs;
  std::int64_t frames, row;  // row: cells of a frame
  T* scores;                 // width numbers for each cell
  std::int64_t width;
  double* sums;  // of each cell, and of the end

  std::int64_t cells() const { return frames * row; }

  /// Calls use(target, log-probability, token, pair) for each arc that leaves cell (t, u); token is
  /// 0 for a blank and 1 for a label.
  template <class Use>
  void for_each_arc(std::int64_t t, std::int64_t u, const Use& use) const {
    const T* const score = scores + (t * row + u) * width;
    for (int i = 0; i < arcs.pairs; ++i) {
      const double duration = arcs.timed ? static_cast<double>(score[2 + i]) : 0;
      const std::int64_t after_blank = t + arcs.blank[i], after_label = t + arcs.label[i];
      if (arcs.blank[i] > 0 && after_blank < frames)
        use(after_blank * row + u, score[0] + duration, 0, i);
      if (after_blank == frames && u == row - 1) use(cells(), score[0] + duration, 0, i);
      if (u < row - 1 && after_label < frames)
        use(after_label * row + u + 1, score[1] + duration, 1, i);
    }
  }

  /// Leaves α in `sums`, and returns log P(labels): the end's.
  double go_forward() const {
    std::fill_n(sums, cells() + 1, kLogZero);
    if (frames > 0) sums[0] = 0;
    for (std::int64_t t = 0; t < frames; ++t)
      for (std::int64_t u = 0; u < row; ++u) {
        const double from = sums[t * row + u];
        for_each_arc(t, u, [&](std::int64_t to, double log_p, int, int) {
          sums[to] = log_add(sums[to], from + log_p);
        });
      }
    return sums[cells()];
  }

  /// Replaces α by β, and the scores by the occupancies times `factor`.
  void go_back(double log_probability, double factor) const {
    sums[cells()] = 0;
    for (std::int64_t t = frames - 1; t >= 0; --t)
      for (std::int64_t u = row - 1; u >= 0; --u) {
        const std::int64_t cell = t * row + u;
        std::array<double, 2 + kMaxDurations> shares{};
        double sum = kLogZero;
        for_each_arc(t, u, [&](std::int64_t to, double log_p, int token, int pair) {
          const double onwards = log_p + sums[to];
          const double share = std::exp(sums[cell] + onwards - log_probability);
          sum = log_add(sum, onwards);
          shares[static_cast<std::size_t>(token)] += share;
          shares[static_cast<std::size_t>(2 + pair)] += share;
        });
        sums[cell] = sum;
        for (std::int64_t i = 0; i < width; ++i)
          scores[cell * width + i] = static_cast<T>(factor * shares[static_cast<std::size_t>(i)]);
      }
  }
};

/// Returns the numbers of `sums` that the largest utterance needs.
std::int64_t largest_lattice(std::span<const std::int64_t> lengths,
                             std::span<const std::int32_t> labels) {
  std::int64_t cells = 0;
  for (std::size_t u = 0; u < lengths.size(); ++u)
    cells = std::max(cells, lengths[u] * (labels[u] + 1));
  return cells + 1;
}

template <class T>
void run_all(Stream& stream, const TransducerLattice& op, const TransducerArcs& arcs) {
  const Targets& targets = op.targets;
  Scratch scratch(op.workspace);
  auto* const sums = scratch.take<double>(largest_lattice(op.lengths, targets.lengths));
  const std::int64_t width = op.scores_CS.shape.at(1);
  T* scores = op.scores_CS.as<T>();
  for (std::size_t u = 0; u < op.lengths.size(); ++u) {
    const Lattice<T> lattice{arcs, op.lengths[u], targets.lengths[u] + 1, scores, width, sums};
    const double weight = targets.weights[u], log_probability = lattice.go_forward();
    const bool possible = log_probability != kLogZero;
    targets.losses[u] = possible ? -weight * log_probability : 0;
    if (op.train && possible) lattice.go_back(log_probability, weight * targets.scale);
    if (op.train && !possible) std::fill_n(scores, lattice.cells() * width, T{0});
    scores += lattice.cells() * width;
    stream.progress();
  }
}

}  // namespace

std::size_t cpu::transducer_lattice_workspace(std::span<const std::int64_t> lengths,
                                              std::span<const std::int32_t> labels) {
  Scratch counted;
  (void)counted.take<double>(largest_lattice(lengths, labels));
  return counted.used();
}

template <>
void CpuBackend::compute(Stream& stream, const TransducerLattice& op) {
  const TransducerArcs arcs = arcs_of(op);
  for_real(op.scores_CS.dtype, "TransducerLattice",
           [&]<class T>(T) { run_all<T>(stream, op, arcs); });
}

}  // namespace penstock::layers
