#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::layers {

/// A right factor B_KN laid out once for many products with few rows, as recurrences have: panels
/// of 24 columns (12 in FP64), the rows of a panel end to end. Columns are filled up with zeros to
/// whole vectors. One layout serves any number of rows; it lies in memory that the caller lends.
template <class T>
class PackedFactor {
 public:
  /// Bytes that a factor needs; a multiple of kAlignment.
  static std::size_t bytes(std::int64_t k, std::int64_t n);

  /// Packs B_KN, or B = W^T from W_NK, into `memory`.
  static PackedFactor of(const T* b_KN, std::int64_t k, std::int64_t n, void* memory);
  static PackedFactor of_transpose(const T* w_NK, std::int64_t k, std::int64_t n, void* memory);

  /// Row i of C = (a_rows[i] · B), added to what C holds where `add`. Rows of C are `c_stride`
  /// apart, which must hold N rounded up to whole vectors; the surplus columns become numbers
  /// without meaning.
  void multiply(std::span<const T* const> a_rows, T* c, std::int64_t c_stride, bool add) const;

 private:
  PackedFactor(const T* panels, std::int64_t k, std::int64_t n) : panels_(panels), k_(k), n_(n) {}

  const T* panels_;
  std::int64_t k_, n_;
};

}  // namespace penstock::layers
