#include "layers/cpu/products/packed_product.h"

#include <algorithm>
#include <array>

#include "layers/cpu/vector.h"
#include "layers/tensor/tensor.h"

namespace penstock::layers {
namespace {

// A register-blocked product in the manner of Goto & van de Geijn (2008), for few rows. The right
// factor is packed once into panels of three vectors of columns. A tile of 4 rows × 3 vectors of C
// stays in registers while it runs down a panel. kDepth rows of the panel stay in the first-level
// cache for all tiles. After these, the sums go to C, so that the order of additions depends on the
// shape alone.

constexpr int kPanelVectors = 3;  // 3 vectors by 4 rows fill 12 of the 16 registers with sums
constexpr int kRows = 4;
constexpr std::int64_t kDepth = 256;  // rows of a panel that stay in the first-level cache (24 KiB)
// Larger factors come from memory at every product. Prefetching them takes 1024 × 4096 with 16 rows
// from 50 to 88 GFLOP/s. Smaller ones lose 4 % by it (256 × 768).
constexpr std::int64_t kFetchedAhead = 2 << 20;  // bytes
constexpr int kToSecondLevel = 2;
constexpr std::int64_t kTransposed = 64;  // rows of a panel that a transposition fills at a time

template <class T>
struct Tile {
  const T* const* a_rows;
  std::int64_t depth_first, depth;
  const T* panel;  // at depth_first
  const T* ahead;  // to prefetch meanwhile, `ahead_step` numbers for each row of the panel
  std::int64_t ahead_step;
  T* c;
  std::int64_t c_stride;
  bool add;
};

/// Computes `rows` × (vectors · lanes) numbers of C, over a part of the depth.
template <class T, bool prefetch, int vectors, int rows>
void multiply_tile(const Tile<T>& tile) {
  constexpr std::int64_t lanes = kLanes<T>;
  Vector<T> sums[rows][vectors];
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = tile.add ? load<T>(tile.c + i * tile.c_stride + v * lanes) : Vector<T>{};
  const T* a[rows];
  for (int i = 0; i < rows; ++i) a[i] = tile.a_rows[i] + tile.depth_first;
  const T* b = tile.panel;
  for (std::int64_t k = 0; k < tile.depth; ++k, b += vectors * lanes) {
    if (prefetch) __builtin_prefetch(tile.ahead + k * tile.ahead_step, 0, kToSecondLevel);
    Vector<T> b_row[vectors];
    for (int v = 0; v < vectors; ++v) b_row[v] = load<T>(b + v * lanes);
    for (int i = 0; i < rows; ++i)
      for (int v = 0; v < vectors; ++v) sums[i][v] += a[i][k] * b_row[v];
  }
  for (int i = 0; i < rows; ++i)
    for (int v = 0; v < vectors; ++v) store<T>(tile.c + i * tile.c_stride + v * lanes, sums[i][v]);
}

template <class T>
using TileKernel = void (*)(const Tile<T>&);

template <class T, bool prefetch, int vectors>
constexpr std::array<TileKernel<T>, kRows> kKernelsByRows = {
    multiply_tile<T, prefetch, vectors, 1>, multiply_tile<T, prefetch, vectors, 2>,
    multiply_tile<T, prefetch, vectors, 3>, multiply_tile<T, prefetch, vectors, 4>};

template <class T, bool prefetch>
constexpr std::array<std::array<TileKernel<T>, kRows>, kPanelVectors> kKernels = {
    kKernelsByRows<T, prefetch, 1>, kKernelsByRows<T, prefetch, 2>, kKernelsByRows<T, prefetch, 3>};

template <class T>
constexpr std::int64_t kPanel = kPanelVectors* kLanes<T>;

/// Calls use(first column, width) for every panel; the last may be narrower.
template <class T, class Use>
void for_each_panel(std::int64_t n, const Use& use) {
  const std::int64_t padded = whole_vectors<T>(n);
  for (std::int64_t first = 0; first < padded; first += kPanel<T>)
    use(first, std::min(kPanel<T>, padded - first));
}

}  // namespace

template <class T>
std::size_t PackedFactor<T>::bytes(std::int64_t k, std::int64_t n) {
  return aligned(static_cast<std::size_t>(k * whole_vectors<T>(n)) * sizeof(T));
}

template <class T>
PackedFactor<T> PackedFactor<T>::of(const T* b, std::int64_t k, std::int64_t n, void* memory) {
  T* const panels = static_cast<T*>(memory);
  for_each_panel<T>(n, [&](std::int64_t first, std::int64_t width) {
    T* to = panels + first * k;
    const std::int64_t real = std::min(width, n - first);
    for (std::int64_t row = 0; row < k; ++row, to += width) {
      std::copy_n(b + row * n + first, real, to);
      std::fill(to + real, to + width, T{});
    }
  });
  return PackedFactor(panels, k, n);
}

// A column of the panel is a row of W. A few rows of the panel are filled at a time, so that they
// stay in cache while each column adds its numbers to them.
template <class T>
PackedFactor<T> PackedFactor<T>::of_transpose(const T* w, std::int64_t k, std::int64_t n,
                                              void* memory) {
  T* const panels = static_cast<T*>(memory);
  for_each_panel<T>(n, [&](std::int64_t first, std::int64_t width) {
    T* const panel = panels + first * k;
    const std::int64_t real = std::min(width, n - first);
    if (real < width) std::fill_n(panel, k * width, T{});
    for (std::int64_t top = 0; top < k; top += kTransposed)
      for (std::int64_t c = 0; c < real; ++c) {
        const T* const from = w + (first + c) * k;
        for (std::int64_t row = top; row < std::min(top + kTransposed, k); ++row)
          panel[row * width + c] = from[row];
      }
  });
  return PackedFactor(panels, k, n);
}

// Rows are divided evenly: 5 rows are tiles of 2 and 3, and not of 4 and 1, which would use
// registers worse. Each tile prefetches its share of the part of the panel that comes next.
template <class T>
void PackedFactor<T>::multiply(std::span<const T* const> a_rows, T* c, std::int64_t c_stride,
                               bool add) const {
  const auto rows = static_cast<std::int64_t>(a_rows.size());
  const std::int64_t blocks = (rows + kRows - 1) / kRows;
  const bool ahead = k_ * n_ * static_cast<std::int64_t>(sizeof(T)) > kFetchedAhead;
  for_each_panel<T>(n_, [&](std::int64_t first, std::int64_t width) {
    const auto& kernels = (ahead ? kKernels<T, true> : kKernels<T, false>)[width / kLanes<T> - 1];
    for (std::int64_t depth_first = 0; depth_first < k_; depth_first += kDepth) {
      const std::int64_t depth = std::min(kDepth, k_ - depth_first);
      const T* const panel = panels_ + first * k_ + depth_first * width;
      const T* const next = panel + depth * width;
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t begin = rows * block / blocks, end = rows * (block + 1) / blocks;
        kernels[end - begin - 1]({.a_rows = a_rows.data() + begin,
                                  .depth_first = depth_first,
                                  .depth = depth,
                                  .panel = panel,
                                  .ahead = next + depth * width * block / blocks,
                                  .ahead_step = width / blocks,
                                  .c = c + begin * c_stride + first,
                                  .c_stride = c_stride,
                                  .add = add || depth_first > 0});
      }
    }
  });
}

template class PackedFactor<float>;
template class PackedFactor<double>;

}  // namespace penstock::layers
