#pragma once

#include <array>
#include <cstdint>

namespace penstock::runtime {

/// A random order of 0 … count - 1 that is looked up, not kept: a Feistel network of four rounds
/// over the next power of two, walked on from what lies beyond `count` (Black and Rogaway, 2002).
/// Depends on its arguments alone.
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t key);

  /// Of a place below `count`; each place has another one.
  std::uint64_t operator()(std::uint64_t place) const;

 private:
  std::uint64_t count_;
  int low_bits_, high_bits_;
  std::array<std::uint64_t, 4> keys_{};  // even: the halves are as long at the end as before
};

}  // namespace penstock::runtime
