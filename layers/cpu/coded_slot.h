#pragma once

#include <cstdint>

#include "layers/code_map.h"
#include "layers/ops/norms.h"
#include "layers/ops/optimizer.h"
#include "layers/random_rounding.h"
#include "layers/tensor/parameter_blocks.h"

namespace penstock::layers {

/// Elements [first, first + count) of a norm block that make up a code block.
struct CodeBlockPart {
  const ArenaBlock& block;
  std::int64_t first = 0, count = 0;
};

/// Random bits of a code block, which its slots share.
struct CodeBlockBits {
  std::uint32_t words[kCodeBlock];
  void draw(const PhiloxStream& random, const CodeBlockPart& part);
};

/// An optimizer slot in bf16 or u8. A step works on FP32 copies of it, one code block at a time.
class CodedSlot {
 public:
  enum class Holds { signed_numbers, squares };

  /// `scales` are used for u8 only. Throws ShapeError if the arena has another type.
  CodedSlot(const Tensor& arena, const Tensor& scales, Holds holds);

  /// Copies the part's numbers to `numbers` as FP32.
  void take_out(const CodeBlockPart& part, float* numbers) const;
  bool rounds_at_random() const { return halves_ != nullptr; }
  /// Stores the numbers back. `bits` are used only by stochastic rounding.
  void put_back(const CodeBlockPart& part, const CodeBlockBits& bits, const float* numbers) const;

 private:
  void round(std::int64_t at, std::int64_t count, const CodeBlockBits& bits,
             const float* numbers) const;
  void encode(std::int64_t at, std::int64_t count, const float* numbers) const;

  BFloat16* halves_ = nullptr;
  std::uint8_t* codes_ = nullptr;
  float* scales_ = nullptr;
  Holds holds_;
};

}  // namespace penstock::layers
