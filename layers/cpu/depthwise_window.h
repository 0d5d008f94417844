#pragma once

#include <algorithm>
#include <cstdint>

#include "layers/cpu/vector.h"
#include "layers/scratch.h"

namespace penstock::layers::cpu {

/// Frames, or taps, whose sums are held in registers together.
inline constexpr std::int64_t kDepthwiseTile = 8;

/// Workspace for one vector of channels of an utterance, frame by frame. Zeros lie wherever a
/// kernel looks past the ends. So loops need no bounds, and a frame is one load from the
/// first-level cache.
template <class T>
struct DepthwiseWorkspace {
  DepthwiseWorkspace(Scratch& scratch, std::int64_t rows, std::int64_t kernel)
      : weight(take(scratch, kernel + kDepthwiseTile)),
        window(take(scratch, rows + kernel + 2 * kDepthwiseTile)),
        gradient(take(scratch, rows)) {}

  Vector<T>*weight, *window, *gradient;

 private:
  static Vector<T>* take(Scratch& scratch, std::int64_t vectors) {
    return reinterpret_cast<Vector<T>*>(scratch.take<T>(vectors * kLanes<T>));
  }
};

/// Sets window[before + t] = value(t). Zeros fill the frames before, and as many after as the sums
/// of a kernel of `kernel` frames read.
template <class T, class Value>
void fill_window(Vector<T>* window, std::int64_t frames, std::int64_t before, std::int64_t kernel,
                 const Value& value) {
  std::fill_n(window, before, Vector<T>{});
  for (std::int64_t t = 0; t < frames; ++t) window[before + t] = value(t);
  std::fill_n(window + before + frames, kernel - before + 2 * kDepthwiseTile, Vector<T>{});
}

/// Calls use(t, Σ_k weight[k] · window[t + k]) for each frame of a window that was filled with the
/// same arguments. A tile of kDepthwiseTile sums stays in registers, so that each weight is loaded
/// once per tile.
template <class T, class Use>
void convolve_window(const Vector<T>* window, std::int64_t frames, std::int64_t before,
                     const Vector<T>* weight, std::int64_t kernel, const Use& use) {
  for (std::int64_t first = 0; first < frames; first += kDepthwiseTile) {
    Vector<T> sums[kDepthwiseTile] = {};
    const std::int64_t end = std::min(kernel, before + frames - first);  // the others meet zeros
    for (std::int64_t k = std::max<std::int64_t>(0, before - first - kDepthwiseTile + 1); k < end;
         ++k) {
      const Vector<T> w = weight[k];
      const Vector<T>* from = window + first + k;
      for (std::int64_t j = 0; j < kDepthwiseTile; ++j) sums[j] += w * from[j];
    }
    const std::int64_t count = std::min(kDepthwiseTile, frames - first);
    for (std::int64_t j = 0; j < count; ++j) use(first + j, sums[j]);
  }
}

/// Calls use(k, Σ_t gradient[t] · window[t + k]) for each tap.
template <class T, class Use>
void correlate_window(const Vector<T>* window, const Vector<T>* gradient, std::int64_t frames,
                      std::int64_t kernel, const Use& use) {
  for (std::int64_t first = 0; first < kernel; first += kDepthwiseTile) {
    Vector<T> sums[kDepthwiseTile] = {};
    for (std::int64_t t = 0; t < frames; ++t) {
      const Vector<T> g = gradient[t];
      const Vector<T>* from = window + first + t;
      for (std::int64_t j = 0; j < kDepthwiseTile; ++j) sums[j] += g * from[j];
    }
    const std::int64_t count = std::min(kDepthwiseTile, kernel - first);
    for (std::int64_t j = 0; j < count; ++j) use(first + j, sums[j]);
  }
}

}  // namespace penstock::layers::cpu
