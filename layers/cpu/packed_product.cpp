#include "layers/cpu/packed_product.h"

#include <algorithm>
#include <array>

#include "layers/cpu/vector.h"
#include "layers/tensor/tensor.h"

namespace penstock {
namespace {

constexpr int kPanelVectors = 3;  // 3 vectors by 4 rows fill 12 of the 16 registers with sums
constexpr int kRows = 4;
constexpr std::int64_t kDepth = 256;  // rows of a panel that stay in the first-level cache (24 KiB)

template <class T>
struct Tile {
  const T* const* a_rows;
  std::int64_t depth_first, depth;
  const T* panel;  // at depth_first
  T* c;
  std::int64_t c_stride;
  bool add;
};

/// `rows` × (vectors · lanes) numbers of C, over a part of the depth.
template <class T, int vectors, int rows>
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

template <class T>
constexpr std::array<std::array<TileKernel<T>, kRows>, kPanelVectors> kTileKernels = {{
    {multiply_tile<T, 1, 1>, multiply_tile<T, 1, 2>, multiply_tile<T, 1, 3>,
     multiply_tile<T, 1, 4>},
    {multiply_tile<T, 2, 1>, multiply_tile<T, 2, 2>, multiply_tile<T, 2, 3>,
     multiply_tile<T, 2, 4>},
    {multiply_tile<T, 3, 1>, multiply_tile<T, 3, 2>, multiply_tile<T, 3, 3>,
     multiply_tile<T, 3, 4>},
}};

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

template <class T>
PackedFactor<T> PackedFactor<T>::of_transpose(const T* w, std::int64_t k, std::int64_t n,
                                              void* memory) {
  T* const panels = static_cast<T*>(memory);
  for_each_panel<T>(n, [&](std::int64_t first, std::int64_t width) {
    T* const panel = panels + first * k;
    const std::int64_t real = std::min(width, n - first);
    for (std::int64_t row = 0; row < k; ++row) {
      for (std::int64_t c = 0; c < real; ++c) panel[row * width + c] = w[(first + c) * k + row];
      std::fill(panel + row * width + real, panel + (row + 1) * width, T{});
    }
  });
  return PackedFactor(panels, k, n);
}

template <class T>
void PackedFactor<T>::multiply(std::span<const T* const> a_rows, T* c, std::int64_t c_stride,
                               bool add) const {
  const auto rows = static_cast<std::int64_t>(a_rows.size());
  if (rows == 0) return;
  const std::int64_t blocks = (rows + kRows - 1) / kRows;
  for_each_panel<T>(n_, [&](std::int64_t first, std::int64_t width) {
    const auto& kernels = kTileKernels<T>[width / kLanes<T> - 1];
    for (std::int64_t depth_first = 0; depth_first < k_; depth_first += kDepth) {
      for (std::int64_t block = 0; block < blocks; ++block) {
        const std::int64_t begin = rows * block / blocks, end = rows * (block + 1) / blocks;
        kernels[end - begin - 1]({.a_rows = a_rows.data() + begin,
                                  .depth_first = depth_first,
                                  .depth = std::min(kDepth, k_ - depth_first),
                                  .panel = panels_ + first * k_ + depth_first * width,
                                  .c = c + begin * c_stride + first,
                                  .c_stride = c_stride,
                                  .add = add || depth_first > 0});
      }
    }
  });
}

template class PackedFactor<float>;
template class PackedFactor<double>;

}  // namespace penstock
