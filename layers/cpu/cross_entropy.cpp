#include "layers/ops/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/logits.h"
#include "layers/cpu/vector_math.h"

// Losses of rows of logits, and their gradient. A row may have 10^5 classes, too many for one FP32
// sum: sums of blocks go lane by lane, and are added up in FP64. Their order follows from the
// number of classes alone, so a row's numbers depend on neither the tile nor its address.

namespace penstock::layers {
namespace {

constexpr std::int64_t kBlock = 1024;  // classes that are added up without FP64

/// Returns Σ of the lanes of term(k, lanes) over a row, block by block.
template <class T, class Term>
double sum_of_row(std::int64_t classes, const Term& term) {
  double total = 0;
  for (std::int64_t first = 0; first < classes; first += kBlock) {
    Vector<T> sums = {};
    for_each_vector<T>(std::min(kBlock, classes - first),
                       [&](std::int64_t k, auto lanes) { sums += term(first + k, lanes); });
    for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) total += static_cast<double>(sums[lane]);
  }
  return total;
}

/// Returns log Σ e^x over a row.
template <class T>
double log_sum(const T* logits, std::int64_t classes) {
  const T top = largest_logit(logits, classes);
  return static_cast<double>(top) +
         std::log(sum_of_row<T>(classes, [&](std::int64_t k, auto lanes) {
           return exp(load_logits(logits + k, lanes) - top);
         }));
}

/// Returns the share ε / V that label smoothing gives each class.
double spread_of(double smoothing, std::int64_t classes) {
  return smoothing / static_cast<double>(classes);
}

}  // namespace

template <>
void CpuBackend::compute(Stream& stream, const CrossEntropyLosses& op) {
  const std::int64_t count = op.logits_RV.shape.at(0), classes = op.logits_RV.shape.at(1);
  const auto* const targets = op.targets_R.as<std::int32_t>();
  auto* const losses = op.losses_R.as<double>();
  const double spread = spread_of(op.smoothing, classes);
  for_real(op.logits_RV.dtype, "CrossEntropyLosses", [&]<class T>(T) {
    const T* logits = op.logits_RV.as<T>();
    for (std::int64_t r = 0; r < count; ++r, logits += classes) {
      losses[r] =
          log_sum(logits, classes) - (1 - op.smoothing) * static_cast<double>(logits[targets[r]]);
      if (op.smoothing > 0)
        losses[r] -= spread * sum_of_row<T>(classes, [&](std::int64_t k, auto lanes) {
                       return load(logits + k, lanes);
                     });
    }
  });
  stream.progress();
}

template <>
void CpuBackend::compute(Stream&, const CrossEntropySums& op) {
  expect_rows_that_fit(op);
  const double* losses = op.losses_R.as<double>();
  std::int64_t first = 0;
  for (std::size_t u = 0; u < op.lengths.size(); ++u) {
    const double weight = op.targets.weights[u];
    double sum = 0;
    for (std::int64_t r = 0; r < op.lengths[u]; ++r) sum += losses[first + r];
    op.targets.losses[u] = weight * sum;
    if (op.factors_R.data != nullptr)
      for_real(op.factors_R.dtype, "CrossEntropySums", [&]<class T>(T) {
        std::fill_n(op.factors_R.as<T>() + first, op.lengths[u],
                    static_cast<T>(weight * op.targets.scale));
      });
    first += op.lengths[u];
  }
}

template <>
void CpuBackend::compute(Stream& stream, const CrossEntropyGradient& op) {
  const std::int64_t count = op.logits_RV.shape.at(0), classes = op.logits_RV.shape.at(1);
  const auto* const targets = op.targets_R.as<std::int32_t>();
  for_real(op.logits_RV.dtype, "CrossEntropyGradient", [&]<class T>(T) {
    const T *logits = op.logits_RV.as<T>(), *factors = op.factors_R.as<T>();
    T* gradient = op.dlogits_RV.as<T>();
    const auto spread = static_cast<T>(spread_of(op.smoothing, classes));
    for (std::int64_t r = 0; r < count; ++r, logits += classes, gradient += classes) {
      const T factor = factors[r], shift = static_cast<T>(log_sum(logits, classes));
      for_each_vector<T>(classes, [&](std::int64_t k, auto lanes) {
        store(gradient + k, factor * (exp(load(logits + k, lanes) - shift) - spread), lanes);
      });
      gradient[targets[r]] -= factor * static_cast<T>(1 - op.smoothing);
    }
  });
  stream.progress();
}

}  // namespace penstock::layers
