#pragma once

#include <array>
#include <cstdint>

namespace penstock::runtime {

/// A random order of 0 … count - 1 that is computed on demand, not stored. A Feistel network of
/// four rounds permutes the numbers below the next power of two. It is applied again to results of
/// `count` or more ("cycle walking", Black and Rogaway, 2002). The result depends on the arguments
/// alone.
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t key);

  /// Returns the element at a place below `count`. Distinct places have distinct elements.
  std::uint64_t operator()(std::uint64_t place) const;

 private:
  std::uint64_t count_;
  int low_bits_, high_bits_;
  std::array<std::uint64_t, 4> keys_{};  // an even number, so that the halves regain their sizes
};

}  // namespace penstock::runtime
