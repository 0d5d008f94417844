#include <algorithm>
#include <cmath>
#include <limits>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/logits.h"
#include "layers/cpu/vector_math.h"
#include "layers/ops/transducer.h"

// Scores of a tile's cells, and the gradient of its logits. Both need the log-softmax of each row,
// whose sums go lane by lane from the row's start. So a cell's numbers depend on neither the tile
// nor the address where its row lies.

namespace penstock::layers {
namespace {

/// Returns log Σ e^x over a row. Its largest number is taken out, so no exponential overflows.
template <class T>
T log_sum(const T* logits, std::int64_t count) {
  const T top = largest_logit(logits, count);
  Vector<T> sums = {};
  for_each_vector<T>(count, [&](std::int64_t k, auto lanes) {
    sums += exp(load_logits(logits + k, lanes) - top);
  });
  T sum = 0;
  for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) sum += sums[lane];
  return top + std::log(sum);
}

/// Sets to[k] = factor · softmax(logits)[k]. `to` may be `logits`.
template <class T>
void scaled_softmax(const T* logits, std::int64_t count, T factor, T* to) {
  const T shift = log_sum(logits, count);
  for_each_vector<T>(count, [&](std::int64_t k, auto lanes) {
    store(to + k, factor * exp(load(logits + k, lanes) - shift), lanes);
  });
}

/// The rows of a tile: cell c has c % row labels written.
struct TileOfLogits {
  TileOfLogits(const Tensor& logits_CK, const Tensor& labels_U, std::int64_t tokens)
      : cells(logits_CK.shape.at(0)),
        width(logits_CK.shape.at(1)),
        durations(width - tokens),
        labels(labels_U.size() == 0 ? nullptr : labels_U.as<std::int32_t>()),
        row(labels_U.size() + 1) {}
  /// Returns the label that cell c can write next, or 0 at the row's end.
  std::int32_t label(std::int64_t c) const { return c % row == row - 1 ? 0 : labels[c % row]; }

  std::int64_t cells, width, durations;
  const std::int32_t* labels;
  std::int64_t row;
};

}  // namespace

template <>
void CpuBackend::compute(Stream& stream, const TransducerScores& op) {
  const TileOfLogits tile(op.logits_CK, op.labels_U, op.tokens);
  for_real(op.scores_CS.dtype, "TransducerScores", [&]<class T>(T) {
    const T* logits = op.logits_CK.as<T>();
    T* scores = op.scores_CS.as<T>();
    for (std::int64_t c = 0; c < tile.cells; ++c, logits += tile.width) {
      const T shift = log_sum(logits, op.tokens) + static_cast<T>(op.sigma);
      const std::int32_t label = tile.label(c);
      *scores++ = logits[0] - shift;
      *scores++ = label == 0 ? -std::numeric_limits<T>::infinity() : logits[label] - shift;
      if (tile.durations == 0) continue;
      const T* const of_durations = logits + op.tokens;
      const T sum = log_sum(of_durations, tile.durations);
      for (std::int64_t i = 0; i < tile.durations; ++i) *scores++ = of_durations[i] - sum;
    }
  });
  stream.progress();
}

template <>
void CpuBackend::compute(Stream& stream, const TransducerLogitGradient& op) {
  const TileOfLogits tile(op.logits_CK, op.labels_U, op.tokens);
  for_real(op.logits_CK.dtype, "TransducerLogitGradient", [&]<class T>(T) {
    const T *logits = op.logits_CK.as<T>(), *share = op.occupancies_CS.as<T>();
    T* gradient = op.dlogits_CK.as<T>();
    for (std::int64_t c = 0; c < tile.cells; ++c) {
      const std::int32_t label = tile.label(c);
      const T all = share[0] + share[1];
      scaled_softmax(logits, op.tokens, all, gradient);
      gradient[0] -= share[0];
      if (label != 0) gradient[label] -= share[1];
      if (tile.durations > 0)
        scaled_softmax(logits + op.tokens, tile.durations, all, gradient + op.tokens);
      for (std::int64_t i = 0; i < tile.durations; ++i) gradient[op.tokens + i] -= share[2 + i];
      logits += tile.width;
      gradient += tile.width;
      share += 2 + tile.durations;
    }
  });
  stream.progress();
}

}  // namespace penstock::layers
