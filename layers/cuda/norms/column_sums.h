#pragma once

#include <algorithm>

#include "layers/cuda/core/block.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/core/launch.h"

namespace penstock::layers::cuda {

// Sums over the rows of a matrix for each column, in FP64 and in an order that depends on the
// matrix's size alone. The rows are divided into chunks. sum_chunks() writes the sums of each
// chunk, and add_chunks() adds the chunks in order. No atomic additions are needed, and equal
// inputs give equal bits. Every element is read once.
//
// A Term defines what is summed:
//   static constexpr int kSums;                                         // for each column
//   __device__ void add(int64 element, int column, double* sums) const;
// with element = row · columns + column.

inline constexpr int kTileColumns = 32, kTileRows = 8;

/// Division of the rows into chunks; each is a block's for one tile of columns. A chunk has about
/// 64 rows or more. There are at most 1024 chunks, and about 4096 blocks.
struct RowChunks {
  RowChunks(std::int64_t rows, int columns)
      : tiles((columns + kTileColumns - 1) / kTileColumns),
        count(std::clamp<std::int64_t>((rows + 63) / 64, 1,
                                       std::max(1, std::min(1024, 4096 / tiles)))),
        rows_each((rows + count - 1) / count) {}
  int tiles;  // of columns
  std::int64_t count, rows_each;
};

/// Writes partial[chunk][sum][column]. Block (chunk, tile of 32 columns) has 8 × 32 threads: eight
/// of them share a column, and their sums are added in order through shared memory.
template <class Term>
__global__ void sum_chunks(Term term, std::int64_t rows, int columns, std::int64_t rows_each,
                           double* partial) {
  BLOCK_SHARED(double, tile, [Term::kSums][kTileRows][kTileColumns]);
  const int column = static_cast<int>(block_y()) * kTileColumns + thread_x();
  const std::int64_t begin = block_x() * rows_each;
  const std::int64_t end = begin + rows_each < rows ? begin + rows_each : rows;
  double sums[Term::kSums] = {};
  if (column < columns)
    for (std::int64_t row = begin + thread_y(); row < end; row += kTileRows)
      term.add(row * columns + column, column, sums);
  for (int s = 0; s < Term::kSums; ++s) tile[s][thread_y()][thread_x()] = sums[s];
  __syncthreads();
  if (thread_y() != 0 || column >= columns) return;
  for (int s = 0; s < Term::kSums; ++s) {
    double sum = 0;
    for (int row = 0; row < kTileRows; ++row) sum += tile[s][row][thread_x()];
    partial[(block_x() * Term::kSums + s) * columns + column] = sum;
  }
}

/// Sets sums[i] = factor · Σ partial[chunk][i] for i < width, in the order of the chunks.
void add_chunks(cudaStream_t stream, const double* partial, std::int64_t chunks, int width,
                double factor, double* sums);

/// Adds sums[i] to total[i], for i < count.
void add_to(cudaStream_t stream, const double* sums, int count, float* total);

/// Adds sums[row][column] to total[column][row], for all columns and rows.
void add_transposed_to(cudaStream_t stream, const double* sums, int columns, int rows,
                       float* total);

/// Arguments of sum_columns() for a matrix of rows × columns: sums[s][column] = factor · sum s of
/// the term.
struct ColumnSums {
  std::int64_t rows = 0;
  int columns = 0;
  double factor = 1;
  double* partial = nullptr;  // device memory for partial_count() numbers
  double* sums = nullptr;     // device memory
};

template <class Term>
void sum_columns(cudaStream_t stream, const Term& term, const ColumnSums& of) {
  const RowChunks chunks(of.rows, of.columns);
  launch(stream,
         {dim3(static_cast<unsigned>(chunks.count), static_cast<unsigned>(chunks.tiles)),
          dim3(kTileColumns, kTileRows)},
         sum_chunks<Term>, term, of.rows, of.columns, chunks.rows_each, of.partial);
  add_chunks(stream, of.partial, chunks.count, Term::kSums * of.columns, of.factor, of.sums);
}

/// Returns how many doubles sum_columns() needs as `partial`.
template <class Term>
std::int64_t partial_count(std::int64_t rows, int columns) {
  return RowChunks(rows, columns).count * Term::kSums * columns;
}

}  // namespace penstock::layers::cuda
