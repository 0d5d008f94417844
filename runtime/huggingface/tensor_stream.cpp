#include "runtime/huggingface/tensor_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

// A model may be larger than memory, so a tensor that consists of rows is never in memory as a
// whole. A writer asks for the bytes of a tensor from some byte on and gets a few rows, which are
// read, checked, reordered and rounded for it. Each answer consists of whole rows, so the next
// request begins with a row again. An answer has at most kElementsAtOnce elements, or one row.

namespace penstock::runtime {
namespace {

constexpr std::int64_t kElementsAtOnce = 1 << 20;

}  // namespace

layers::Tensor StreamedTensor::handle() const {
  return {const_cast<StreamedTensor*>(this), dtype, shape};  // a writer only reads it
}

/// Returns ready bytes, or reads some rows of the source as FP32, checks their range, reorders
/// their columns, and rounds them to the target's type.
std::span<const std::byte> TensorStream::bytes(const layers::Tensor& handle, std::size_t begin) {
  const auto& tensor = *static_cast<const StreamedTensor*>(handle.data);
  if (tensor.runs.empty()) return std::span(tensor.ready).subspan(begin);
  const std::size_t width = layers::size_of(tensor.dtype);
  fill(tensor, static_cast<std::int64_t>(begin / width) / tensor.columns);
  if (!tensor.order.empty()) reorder(tensor);
  return layers::is_half(tensor.dtype) ? rounded(tensor.dtype) : std::as_bytes(std::span(rows_));
}

/// Reads whole rows from `row` on, up to the end of the run and at most kElementsAtOnce elements
/// (but one row at least).
void TensorStream::fill(const StreamedTensor& tensor, std::int64_t row) {
  auto run = tensor.runs.begin();
  for (; row >= run->count; ++run) row -= run->count;
  const std::int64_t max = std::max<std::int64_t>(1, kElementsAtOnce / tensor.columns);
  const std::int64_t rows = std::min(run->count - row, max);
  rows_.resize(static_cast<std::size_t>(rows * tensor.columns));
  read_(run->source, (run->first + row) * tensor.columns, rows_);
  check_range(run->source, tensor.dtype);
}

/// Throws CheckpointError if a number is not finite, or too large for `dtype`.
void TensorStream::check_range(const std::string& source, layers::DType dtype) const {
  constexpr float kLargestHalf = 65504;
  for (const float x : rows_) {
    if (!std::isfinite(x))
      throw CheckpointError(
          fmt::format("'{}' holds {}, where all numbers must be finite", source, x));
    if (dtype == layers::DType::f16 && std::abs(x) > kLargestHalf)
      throw CheckpointError(fmt::format("'{}' holds {}, but fp16 ends at {}: choose bf16 or fp32",
                                        source, x, kLargestHalf));
  }
}

// The row is copied first, since a permutation in place would overwrite columns that are still
// needed.
void TensorStream::reorder(const StreamedTensor& tensor) {
  const auto columns = static_cast<std::size_t>(tensor.columns);
  for (std::size_t begin = 0; begin < rows_.size(); begin += columns) {
    const std::span<float> row = std::span(rows_).subspan(begin, columns);
    row_.assign(row.begin(), row.end());
    for (std::size_t j = 0; j < columns; ++j)
      row[j] = row_[static_cast<std::size_t>(tensor.order[j])];
  }
}

std::span<const std::byte> TensorStream::rounded(layers::DType dtype) {
  halves_.resize(rows_.size());
  layers::round_floats(rows_, dtype, std::as_writable_bytes(std::span(halves_)));
  return std::as_bytes(std::span(halves_));
}

}  // namespace penstock::runtime
