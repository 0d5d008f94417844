#pragma once

#include <algorithm>
#include <bit>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/numbers.h"

namespace penstock::layers::cuda {

// Elementwise kernels over matrices with equally many rows and columns. A thread owns eight columns
// of a row, and then of rows further down. So it reads and writes words of 16 bytes, and finds its
// place without a division.

inline constexpr int kEight = 8, kEightThreads = 256;

/// Rows of a matrix that start `pitch` numbers apart.
template <class T>
struct MatrixRows {
  T* first;
  std::int64_t pitch;
};

struct MatrixSize {
  std::int64_t rows, columns;
};

/// Returns the size of `count` numbers as one row, for functions that ignore a number's place.
inline MatrixSize flat(std::int64_t count) { return {1, count}; }

/// A number's place.
struct Cell {
  std::int64_t row, column;
};

/// Eight numbers of a thread. They are indexed by constants alone, so that they stay in registers.
struct EightFloats {
  float values[kEight];
};

template <class T>
struct alignas(16) EightNumbers {
  T values[kEight];
};

/// Eight columns of a row, or fewer at its end.
struct EightCells {
  Cell first;
  int count;
  bool aligned;  // all eight are there, and begin on 16 bytes

  template <class T>
  __device__ EightFloats load(const MatrixRows<const T>& from) const {
    const T* const at = from.first + first.row * from.pitch + first.column;
    EightFloats loaded{};
    if (aligned) {
      const auto numbers = *reinterpret_cast<const EightNumbers<T>*>(at);
      UNROLLED for (int k = 0; k < kEight; ++k) loaded.values[k] = to_float(numbers.values[k]);
    } else {
      UNROLLED for (int k = 0; k < kEight; ++k) {
        if (k < count) loaded.values[k] = to_float(at[k]);
      }
    }
    return loaded;
  }

  template <class T>
  __device__ void store(const EightFloats& numbers, const MatrixRows<T>& to) const {
    T* const at = to.first + first.row * to.pitch + first.column;
    if (aligned) {
      EightNumbers<T> stored;
      UNROLLED for (int k = 0; k < kEight; ++k) stored.values[k] = from_float<T>(numbers.values[k]);
      *reinterpret_cast<EightNumbers<T>*>(at) = stored;
    } else {
      UNROLLED for (int k = 0; k < kEight; ++k) {
        if (k < count) at[k] = from_float<T>(numbers.values[k]);
      }
    }
  }
};

/// Calls work(EightCells) for each group of eight that the thread owns.
template <class Work>
__device__ void for_each_eight(const MatrixSize& size, bool aligned, const Work& work) {
  const std::int64_t column = (block_x() * block_threads() + thread_x()) * kEight;
  if (column >= size.columns) return;
  const std::int64_t left = size.columns - column;
  const int count = left < kEight ? static_cast<int>(left) : kEight;
  for (std::int64_t row = block_y() * blockDim.y + thread_y(); row < size.rows;
       row += std::int64_t{gridDim.y} * blockDim.y)
    work(EightCells{{row, column}, count, aligned && count == kEight});
}

/// Returns the grid for for_each_eight(). A block has kEightThreads threads: as many across as a
/// row needs, and the others in rows below.
inline Grid grid_of_eights(const MatrixSize& size) {
  const std::int64_t eights = (size.columns + kEight - 1) / kEight;
  const auto across =
      std::min<std::int64_t>(kEightThreads, std::bit_ceil(static_cast<std::uint64_t>(eights)));
  const std::int64_t down = kEightThreads / across;
  return {dim3(static_cast<unsigned>((eights + across - 1) / across),
               static_cast<unsigned>(std::min<std::int64_t>((size.rows + down - 1) / down, 65535))),
          dim3(static_cast<unsigned>(across), static_cast<unsigned>(down))};
}

/// Returns true if all rows begin on 16 bytes.
template <class T>
bool is_aligned(const MatrixRows<T>& rows) {
  return rows.pitch % kEight == 0 && reinterpret_cast<std::uintptr_t>(rows.first) % 16 == 0;
}

template <class F, class Y, class... X>
__global__ void __launch_bounds__(kEightThreads, 2)
    map_eights(MatrixSize size, bool aligned, F f, MatrixRows<Y> y, MatrixRows<const X>... x) {
  for_each_eight(size, aligned, [&](const EightCells& cells) {
    const auto mapped = [&](const auto&... loaded) {
      EightFloats values{};
      UNROLLED for (int k = 0; k < kEight; ++k) values.values[k] =
          f(Cell{cells.first.row, cells.first.column + (k < cells.count ? k : 0)},
            loaded.values[k]...);
      return values;
    };
    cells.store(mapped(cells.load(x)...), y);
  });
}

/// Sets y = f(cell, x...) for each cell, in FP32. y may be one of x.
template <class F, class Y, class... X>
void map(cudaStream_t stream, const MatrixSize& size, const F& f, const MatrixRows<Y>& y,
         const MatrixRows<const X>&... x) {
  if (size.rows == 0 || size.columns == 0) return;
  const bool aligned = is_aligned(y) && (is_aligned(x) && ...);
  launch(stream, grid_of_eights(size), map_eights<F, Y, X...>, size, aligned, f, y, x...);
}

/// Returns a tensor's numbers as rows that start `pitch` numbers apart.
template <class T>
MatrixRows<const T> rows_of(const Tensor& tensor, std::int64_t pitch = 0) {
  return {data_of<T>(tensor), pitch};
}
template <class T>
MatrixRows<T> rows_to(const Tensor& tensor, std::int64_t pitch = 0) {
  return {data_of<T>(tensor), pitch};
}

}  // namespace penstock::layers::cuda
