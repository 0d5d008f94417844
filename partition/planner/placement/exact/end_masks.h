#pragma once

#include <cstdint>
#include <vector>

namespace penstock::partition {

/// Bit sets of the boundaries where a stage may end, for each row and each first layer of the
/// stage. Bit j stands for the boundary in front of layer j. The caller gives rows their meaning.
class EndMasks {
 public:
  using Word = std::uint64_t;
  static constexpr int kBits = 64;

  EndMasks(std::size_t rows, int layers)
      : layers_(layers), words_(layers / kBits + 1), bits_(rows * layers * words_, 0) {}

  void clear() { bits_.assign(bits_.size(), 0); }
  int words() const { return static_cast<int>(words_); }
  Word* of(std::size_t row, int first) { return &bits_[(row * layers_ + first) * words_]; }
  const Word* of(std::size_t row, int first) const {
    return &bits_[(row * layers_ + first) * words_];
  }
  void add(std::size_t row, int first, int end) {
    of(row, first)[end / kBits] |= Word{1} << (end % kBits);
  }

 private:
  std::size_t layers_, words_;
  std::vector<Word> bits_;
};

}  // namespace penstock::partition
