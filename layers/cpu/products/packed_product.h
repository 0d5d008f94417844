#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::layers {

/// A right factor B_KN that is laid out once for many products with few rows, as recurrences have.
/// It consists of panels of 24 columns (12 in FP64), with the rows of a panel end to end. Columns
/// are padded with zeros to whole vectors. One layout serves any number of rows. It lies in memory
/// that the caller owns.
template <class T>
class PackedFactor {
 public:
  /// Returns the bytes that a factor needs, a multiple of kAlignment.
  static std::size_t bytes(std::int64_t k, std::int64_t n);

  /// Packs B_KN, or B = W^T from W_NK, into `memory`.
  static PackedFactor of(const T* b_KN, std::int64_t k, std::int64_t n, void* memory);
  static PackedFactor of_transpose(const T* w_NK, std::int64_t k, std::int64_t n, void* memory);

  /// Sets row i of C to a_rows[i] · B, or adds to it if `add`. Rows of C are `c_stride` apart,
  /// which must hold N rounded up to whole vectors. The surplus columns become undefined.
  void multiply(std::span<const T* const> a_rows, T* c, std::int64_t c_stride, bool add) const;

 private:
  PackedFactor(const T* panels, std::int64_t k, std::int64_t n) : panels_(panels), k_(k), n_(n) {}

  const T* panels_;
  std::int64_t k_, n_;
};

}  // namespace penstock::layers
