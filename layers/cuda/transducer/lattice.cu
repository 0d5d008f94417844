#include <vector>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"
#include "layers/cuda/transducer/lattice_sizes.h"
#include "layers/ops/transducer.h"

namespace penstock::layers {
namespace cuda {
namespace {

// Loss and occupancies of a transducer by the forward-backward algorithm (Graves 2012, with the
// durations of Xu et al. 2023), in FP64 logarithms. A block has one utterance.
//
// All arcs lead from one anti-diagonal t + u = n of the lattice to a later one, so the cells of a
// diagonal do not depend on each other: threads share them, and a barrier ends each diagonal. The
// forward pass pulls the sum of a cell over its incoming arcs. The backward pass pulls over its
// outgoing arcs, and its sums replace the forward ones cell by cell, as the occupancies replace the
// scores. A pass has T + U barriers, and costs the cells times their arcs.

constexpr int kThreads = 256;
constexpr double kLogZero = -INFINITY;

/// A running log Σ e^x. NaN stays NaN.
struct LogSum {
  __device__ void add(double x) {
    if (x == kLogZero) return;
    if (x > top) {
      sum = sum * exp(top - x) + 1;
      top = x;
    } else {
      sum += exp(x - top);
    }
  }
  __device__ double value() const { return top + log(sum); }
  double top = kLogZero, sum = 0;
};

/// The lattice of one utterance.
struct Lattice {
  std::int64_t frames, row;  // row: cells of a frame
  std::int64_t width;        // numbers of a cell's scores
  float* scores;
  double* sums;

  __device__ std::int64_t cell(std::int64_t t, std::int64_t u) const { return t * row + u; }
  __device__ const float* score(std::int64_t t, std::int64_t u) const {
    return scores + cell(t, u) * width;
  }
  __device__ std::int64_t first_of_diagonal(std::int64_t n) const {
    return n < frames ? 0 : n - frames + 1;
  }
  __device__ std::int64_t last_of_diagonal(std::int64_t n) const { return n < row ? n : row - 1; }
};

/// Returns the log-probability of a token's arc of pair i.
__device__ double arc_score(const float* score, int token, const TransducerArcs& arcs, int i) {
  const double duration = arcs.timed ? static_cast<double>(score[2 + i]) : 0.0;
  return static_cast<double>(score[token]) + duration;
}

/// Returns the log of the sum over all paths to cell (t, u).
__device__ double sum_to(const Lattice& lattice, const TransducerArcs& arcs, std::int64_t t,
                         std::int64_t u) {
  if (t == 0 && u == 0) return 0;
  LogSum sum;
  for (int i = 0; i < arcs.pairs; ++i) {
    const std::int64_t blank = t - arcs.blank[i], label = t - arcs.label[i];
    if (arcs.blank[i] > 0 && blank >= 0)
      sum.add(lattice.sums[lattice.cell(blank, u)] +
              arc_score(lattice.score(blank, u), 0, arcs, i));
    if (u > 0 && label >= 0)
      sum.add(lattice.sums[lattice.cell(label, u - 1)] +
              arc_score(lattice.score(label, u - 1), 1, arcs, i));
  }
  return sum.value();
}

/// Returns the log of the sum over all paths: those that a blank ends after the last frame.
__device__ double sum_to_end(const Lattice& lattice, const TransducerArcs& arcs) {
  LogSum sum;
  const std::int64_t u = lattice.row - 1;
  for (int i = 0; i < arcs.pairs; ++i) {
    const std::int64_t t = lattice.frames - arcs.blank[i];
    if (arcs.blank[i] > 0 && t >= 0)
      sum.add(lattice.sums[lattice.cell(t, u)] + arc_score(lattice.score(t, u), 0, arcs, i));
  }
  return sum.value();
}

/// Replaces the forward sum of cell (t, u) by the backward one, and its scores by occupancies.
__device__ void turn_back(const Lattice& lattice, const TransducerArcs& arcs, std::int64_t t,
                          std::int64_t u, double log_probability, double factor) {
  double& own = lattice.sums[lattice.cell(t, u)];
  float* const score = lattice.scores + lattice.cell(t, u) * lattice.width;
  const double before = own - log_probability;
  double blanks = 0, labels = 0;
  LogSum sum;
  for (int i = 0; i < arcs.pairs; ++i) {
    const std::int64_t after_blank = t + arcs.blank[i], after_label = t + arcs.label[i];
    const bool ends = after_blank == lattice.frames && u == lattice.row - 1;
    double blank = kLogZero, label = kLogZero;
    if (arcs.blank[i] > 0 && (ends || after_blank < lattice.frames))
      blank =
          arc_score(score, 0, arcs, i) + (ends ? 0.0 : lattice.sums[lattice.cell(after_blank, u)]);
    if (u < lattice.row - 1 && after_label < lattice.frames)
      label = arc_score(score, 1, arcs, i) + lattice.sums[lattice.cell(after_label, u + 1)];
    sum.add(blank);
    sum.add(label);
    const double of_blank = exp(before + blank), of_label = exp(before + label);
    blanks += of_blank;
    labels += of_label;
    if (arcs.timed) score[2 + i] = static_cast<float>(factor * (of_blank + of_label));
  }
  own = sum.value();
  score[0] = static_cast<float>(factor * blanks);
  score[1] = static_cast<float>(factor * labels);
}

/// Holds all that is the same for all utterances.
struct LatticeArguments {
  TransducerArcs arcs;
  std::int64_t width;
  float* scores;
  const float* weights;
  double scale;
  bool train;
};

__global__ void __launch_bounds__(kThreads)
    walk_lattices(LatticeWorkspace room, LatticeArguments arguments) {
  BLOCK_SHARED(double, total, [1]);
  const LatticeOfUtterance& utterance = room.utterances[block_x()];
  const Lattice lattice{utterance.frames, utterance.labels + 1, arguments.width,
                        arguments.scores + utterance.first_cell * arguments.width,
                        room.sums + utterance.first_cell};
  const std::int64_t diagonals = lattice.frames == 0 ? 0 : lattice.frames + lattice.row - 1;
  for (std::int64_t n = 0; n < diagonals; ++n) {
    for (std::int64_t u = lattice.first_of_diagonal(n) + thread_x();
         u <= lattice.last_of_diagonal(n); u += kThreads)
      lattice.sums[lattice.cell(n - u, u)] = sum_to(lattice, arguments.arcs, n - u, u);
    __syncthreads();
  }
  const double weight = arguments.weights[block_x()];
  if (thread_x() == 0) {
    total[0] = diagonals == 0 ? kLogZero : sum_to_end(lattice, arguments.arcs);
    room.losses[block_x()] = total[0] == kLogZero ? 0 : -weight * total[0];
  }
  __syncthreads();
  if (!arguments.train) return;
  if (total[0] == kLogZero) {
    for (std::int64_t i = thread_x(); i < lattice.frames * lattice.row * lattice.width;
         i += kThreads)
      lattice.scores[i] = 0;
    return;
  }
  for (std::int64_t n = diagonals - 1; n >= 0; --n) {
    for (std::int64_t u = lattice.first_of_diagonal(n) + thread_x();
         u <= lattice.last_of_diagonal(n); u += kThreads)
      turn_back(lattice, arguments.arcs, n - u, u, total[0], weight * arguments.scale);
    __syncthreads();
  }
}

/// Copies the utterances' sizes to the device.
void upload(CudaStream& stream, const TransducerLattice& op, const LatticeWorkspace& room) {
  std::vector<LatticeOfUtterance> utterances;
  LatticeOfUtterance next;
  for (std::size_t u = 0; u < op.lengths.size(); ++u) {
    next.frames = op.lengths[u];
    next.labels = op.targets.lengths[u];
    utterances.push_back(next);
    next.first_cell += next.frames * (next.labels + 1);
  }
  stream.copy_in(room.utterances, utterances.data(),
                 utterances.size() * sizeof(LatticeOfUtterance));
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const TransducerLattice& op) {
  const TransducerArcs arcs = arcs_of(op);
  auto& own = static_cast<CudaStream&>(stream);
  Scratch scratch(op.workspace);
  const cuda::LatticeWorkspace room(scratch, op.lengths, op.targets.lengths);
  cuda::upload(own, op, room);
  const cuda::LatticeArguments arguments{.arcs = arcs,
                                         .width = op.scores_CS.shape.at(1),
                                         .scores = cuda::data_of<float>(op.scores_CS),
                                         .weights = op.targets.weights.data(),
                                         .scale = op.targets.scale,
                                         .train = op.train};
  cuda::launch(own.handle(), {dim3(static_cast<unsigned>(op.lengths.size())), dim3(cuda::kThreads)},
               cuda::walk_lattices, room, arguments);
  own.copy_out(op.targets.losses.data(), room.losses, op.targets.losses.size_bytes());
}

}  // namespace penstock::layers
