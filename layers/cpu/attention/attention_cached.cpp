#include "layers/ops/attention_cached.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "layers/cpu/attention/rotary.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/halves/half_vector.h"
#include "layers/cpu/sizes.h"
#include "layers/cpu/vector_math.h"
#include "layers/scratch.h"

// Attention of new rows to cached ones. A decoding step has one new row for each utterance, so
// there is no product to block: the work is one pass over the cached keys and one over the values.
// Both are read in the order in which they lie in memory, all heads of a row together, 64 rows at a
// time. Between the two passes, the 64 scores of each head join an online softmax (Milakov &
// Gimelshein 2018): sums so far are multiplied by e^(m - m') where the largest score m grows to m'.
//
// A row's sums follow from its keys alone, in their order, so they have the same bits for any
// number of new rows and utterances. 16-bit keys and values become FP32 as they are loaded.

namespace penstock::layers {
namespace {

constexpr std::int64_t kBlockRows = 64;
constexpr int kTogether = 4;  // rows whose numbers are in registers at once

template <class T>
struct CachedScratch {
  CachedScratch(const AttentionGeometry& geometry, Scratch scratch)
      : steps(scratch.take<double>(geometry.rotary_base == 0 ? 0 : geometry.head_channels() / 2)),
        cosines(scratch.take<T>(geometry.head_channels() / 2)),
        sines(scratch.take<T>(geometry.head_channels() / 2)),
        row(scratch.take<T>(geometry.channels)),
        weights(scratch.take<T>(geometry.heads * kBlockRows)),
        largest(scratch.take<T>(geometry.heads)),
        sums(scratch.take<T>(geometry.heads)),
        bytes(scratch.used()) {}

  double* steps;       // [d / 2], of the rotary angles
  T *cosines, *sines;  // [d / 2], of the angles of the present row
  T* row;              // [C], a row of keys or queries, rotated
  T* weights;          // [heads, rows of a block]: scores, then e^(score - largest)
  T *largest, *sums;   // [heads], of the online softmax
  std::size_t bytes;
};

/// Loads numbers of the cache, of which halves become FP32.
template <class N>
[[gnu::always_inline]] inline auto load_cached(const N* from, std::int64_t lanes) {
  if constexpr (std::is_floating_point_v<N>) {
    return load<N>(from, lanes);
  } else {
    if (lanes == kLanes<float>) return Vector<float>(load8(from));
    Vector<float> v = {};
    for (std::int64_t lane = 0; lane < lanes; ++lane) v[lane] = widened(from[lane]);
    return v;
  }
}

/// Copies numbers into the cache, rounded if it has halves.
template <class T, class N>
void put(const T* from, N* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, N>)
    std::copy_n(from, count, to);
  else
    convert8(from, to, count);
}

/// Writes the products of q with kRows rows of `keys`, which start `pitch` numbers apart.
template <int kRows, class T, class N>
void multiply_rows(const T* q, const N* keys, std::int64_t pitch, std::int64_t d, T* out) {
  Vector<T> sums[kRows] = {};
  for_each_vector<T>(d, [&](std::int64_t c, auto lanes) {
    const Vector<T> of_q = load<T>(q + c, lanes);
    for (int r = 0; r < kRows; ++r) sums[r] += of_q * load_cached(keys + r * pitch + c, lanes);
  });
  for (int r = 0; r < kRows; ++r) {
    T sum = 0;
    for (std::int64_t lane = 0; lane < kLanes<T>; ++lane) sum += sums[r][lane];
    out[r] = sum;
  }
}

/// Adds kRows rows of `values`, each times its weight, to y.
template <int kRows, class T, class N>
void add_rows(const T* weights, const N* values, std::int64_t pitch, std::int64_t d, T* y) {
  for_each_vector<T>(d, [&](std::int64_t c, auto lanes) {
    Vector<T> sum = load<T>(y + c, lanes);
    for (int r = 0; r < kRows; ++r) sum += weights[r] * load_cached(values + r * pitch + c, lanes);
    store<T>(y + c, sum, lanes);
  });
}

/// T computes, and N are the cache's numbers.
template <class T, class N>
class CachedAttention {
 public:
  CachedAttention(const AttentionCached& op, const CachedScratch<T>& scratch)
      : op_(op),
        scratch_(scratch),
        channels_(op.geometry.channels),
        pitch_(op.geometry.key_channels()) {
    const std::int64_t d = op.geometry.head_channels();
    if (op.geometry.rotary_base == 0) return;
    for (std::int64_t c = 0; c < d / 2; ++c)
      scratch.steps[c] = rotary_step(op.geometry.rotary_base, c, d);
  }

  /// Appends the keys and values of all new rows.
  void append() const {
    for_rows([&](std::int64_t u, std::int64_t position, std::int64_t row) {
      const T* const qkv = op_.qkv_FP.as<T>() + row * op_.qkv_FP.shape[1];
      set_row(qkv + channels_, op_.geometry.key_heads(), T(1));
      put(scratch_.row, cached(op_.cache.keys_UTC, u, position), pitch_);
      put(qkv + channels_ + pitch_, cached(op_.cache.values_UTC, u, position), pitch_);
    });
  }

  /// Computes y of all new rows.
  void attend(Stream& stream) const {
    const T scale = 1 / std::sqrt(static_cast<T>(op_.geometry.head_channels()));
    for_rows([&](std::int64_t u, std::int64_t position, std::int64_t row) {
      set_row(op_.qkv_FP.as<T>() + row * op_.qkv_FP.shape[1], op_.geometry.heads, scale);
      T* const y = op_.y_FC.as<T>() + row * op_.y_FC.shape[1];
      std::fill_n(y, channels_, T{0});
      std::fill_n(scratch_.sums, op_.geometry.heads, T{0});
      std::fill_n(scratch_.largest, op_.geometry.heads, -std::numeric_limits<T>::infinity());
      const std::int64_t end = op_.geometry.cross() ? op_.cache.past[u] : position + 1;
      for (std::int64_t first = std::max<std::int64_t>(0, position - op_.geometry.left);
           first < end; first += kBlockRows)
        add_block(u, first, std::min(kBlockRows, end - first), y);
      for_heads([&](std::int64_t h, std::int64_t at, std::int64_t) {
        const T inverse = 1 / scratch_.sums[h];
        for (std::int64_t c = 0; c < op_.geometry.head_channels(); ++c) y[at + c] *= inverse;
      });
      stream.progress();
    });
  }

 private:
  /// Calls use(utterance, position, row), with the angles of the position, for all new rows.
  template <class Use>
  void for_rows(const Use& use) const {
    std::int64_t row = 0;
    for (std::size_t u = 0; u < op_.geometry.lengths.size(); ++u)
      for (std::int64_t i = 0; i < op_.geometry.lengths[u]; ++i, ++row) {
        const std::int64_t position = op_.cache.past[u] + i;
        for (std::int64_t c = 0; turns() && c < op_.geometry.head_channels() / 2; ++c) {
          const double angle = static_cast<double>(position) * scratch_.steps[c];
          scratch_.cosines[c] = static_cast<T>(std::cos(angle));
          scratch_.sines[c] = static_cast<T>(std::sin(angle));
        }
        use(static_cast<std::int64_t>(u), position, row);
      }
  }

  /// Calls use(head, its first channel, that of its k and v) for all heads of q.
  template <class Use>
  void for_heads(const Use& use) const {
    const std::int64_t d = op_.geometry.head_channels(), group = op_.geometry.group();
    for (std::int64_t h = 0; h < op_.geometry.heads; ++h) use(h, h * d, h / group * d);
  }

  bool turns() const { return op_.geometry.rotary_base != 0; }

  /// Copies so many heads to scratch.row, times `factor` and rotated.
  void set_row(const T* from, std::int64_t heads, T factor) const {
    const std::int64_t d = op_.geometry.head_channels();
    for (std::int64_t c = 0; c < heads * d; ++c) scratch_.row[c] = factor * from[c];
    for (std::int64_t h = 0; turns() && h < heads; ++h)
      turn(scratch_.row + h * d, d / 2, scratch_.cosines, scratch_.sines);
  }

  N* cached(const Tensor& tensor_UTC, std::int64_t u, std::int64_t position) const {
    return tensor_UTC.as<N>() + (u * op_.cache.capacity() + position) * pitch_;
  }

  /// Adds `count` cached rows from `first` on to the softmax of each head, and to y.
  void add_block(std::int64_t u, std::int64_t first, std::int64_t count, T* y) const {
    const std::int64_t d = op_.geometry.head_channels();
    const N* const keys = cached(op_.cache.keys_UTC, u, first);
    for_groups(count, [&](std::int64_t r, auto rows) {
      for_heads([&](std::int64_t h, std::int64_t at, std::int64_t key) {
        multiply_rows<rows()>(scratch_.row + at, keys + r * pitch_ + key, pitch_, d,
                              scratch_.weights + h * kBlockRows + r);
      });
    });
    for_heads(
        [&](std::int64_t h, std::int64_t at, std::int64_t) { join_softmax(h, count, y + at); });
    const N* const values = cached(op_.cache.values_UTC, u, first);
    for_groups(count, [&](std::int64_t r, auto rows) {
      for_heads([&](std::int64_t h, std::int64_t at, std::int64_t value) {
        add_rows<rows()>(scratch_.weights + h * kBlockRows + r, values + r * pitch_ + value, pitch_,
                         d, y + at);
      });
    });
  }

  /// Calls use(first, rows) for groups of kTogether rows, and then for single ones.
  template <class Use>
  static void for_groups(std::int64_t count, const Use& use) {
    std::int64_t r = 0;
    for (; r + kTogether <= count; r += kTogether) use(r, std::integral_constant<int, kTogether>{});
    for (; r < count; ++r) use(r, std::integral_constant<int, 1>{});
  }

  /// Turns the scores of a head into e^(score - largest), and scales its sums so far, in y too.
  void join_softmax(std::int64_t h, std::int64_t count, T* y) const {
    T* const row = scratch_.weights + h * kBlockRows;
    const T largest = std::max(scratch_.largest[h], *std::max_element(row, row + count));
    const T factor = std::exp(scratch_.largest[h] - largest);
    T sum = scratch_.sums[h] * factor;
    for_each_vector<T>(count, [&](std::int64_t c, auto lanes) {
      store<T>(row + c, exp(load<T>(row + c, lanes) - largest), lanes);
    });
    for (std::int64_t c = 0; c < count; ++c) sum += row[c];
    if (factor != 1)
      for (std::int64_t c = 0; c < op_.geometry.head_channels(); ++c) y[c] *= factor;
    scratch_.largest[h] = largest;
    scratch_.sums[h] = sum;
  }

  const AttentionCached& op_;
  const CachedScratch<T>& scratch_;
  std::int64_t channels_, pitch_;  // of q and y, and of a row of the cache
};

/// Calls work(N{}) with the type of the cache's numbers: T, or a half where T is FP32.
template <class T, class Work>
void for_cached(DType dtype, const Work& work) {
  if constexpr (std::is_same_v<T, float>) {
    if (dtype == DType::f16) return work(Half{});
    if (dtype == DType::bf16) return work(BFloat16{});
  }
  work(T{});  // as<T>() throws for any other
}

}  // namespace

std::size_t cpu::attention_cached_workspace(const AttentionGeometry& geometry, DType dtype) {
  return arithmetic_of(dtype) == DType::f64 ? CachedScratch<double>(geometry, Scratch()).bytes
                                            : CachedScratch<float>(geometry, Scratch()).bytes;
}

template <>
void CpuBackend::compute(Stream& stream, const AttentionCached& op) {
  check_cache(op);
  for_real(op.qkv_FP.dtype, "AttentionCached", [&]<class T>(T) {
    const CachedScratch<T> scratch(op.geometry, Scratch(op.workspace));
    for_cached<T>(op.cache.keys_UTC.dtype, [&]<class N>(N) {
      const CachedAttention<T, N> attention(op, scratch);
      if (!op.geometry.cross()) attention.append();
      if (begins(op))
        run(stream, whole_attention(op));
      else
        attention.attend(stream);
    });
  });
}

}  // namespace penstock::layers
