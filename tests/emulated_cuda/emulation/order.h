#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace emulated_cuda {

/// In which order the emulator does what CUDA leaves open: the blocks of a grid, the threads of a
/// block between two barriers, the operations of different streams.
class Order {
 public:
  enum class Kind { forward, reversed, random };

  explicit Order(Kind kind = Kind::forward, std::uint64_t seed = 1) : kind_(kind), random_(seed) {}

  Kind kind() const { return kind_; }
  /// 0 … count - 1 in the order in which to take them.
  std::vector<int> arrange(int count);
  /// Which of `count` goes next: the first, the last, or any.
  std::size_t choose(std::size_t count);
  /// True once in `times` in random order, else never.
  bool chance(unsigned times);

 private:
  Kind kind_;
  std::mt19937_64 random_;
};

}  // namespace emulated_cuda
