#include "layers/cpu/coded_slot.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace penstock::layers {
namespace {

const CodeMap& map_of(CodedSlot::Holds holds) {
  return holds == CodedSlot::Holds::squares ? kUnsignedCodes : kSignedCodes;
}

}  // namespace

// A Philox block serves four elements. The last one may write words that belong to no element.
void CodeBlockBits::draw(const PhiloxStream& random, const CodeBlockPart& part) {
  const RoundingBits bits{random};
  for (std::int64_t i = 0; i < part.count; i += 4) {
    const PhiloxBlock four = bits.of_four(part.block.place, part.first + i);
    std::copy(four.begin(), four.end(), words + i);
  }
}

CodedSlot::CodedSlot(const Tensor& arena, const Tensor& scales, Holds holds) : holds_(holds) {
  if (arena.dtype == DType::bf16) {
    halves_ = arena.as<BFloat16>();
  } else {
    codes_ = arena.as<std::uint8_t>();
    scales_ = scales.as<float>();
  }
}

// A bf16 number is widened without loss. A code is looked up in its map and multiplied by the scale
// of its code block.
void CodedSlot::take_out(const CodeBlockPart& part, float* numbers) const {
  const std::int64_t at = part.block.slot + part.first;
  if (halves_ != nullptr) {
    for (std::int64_t i = 0; i < part.count; ++i)
      numbers[i] = from_bfloat16_bits(halves_[at + i].bits);
    return;
  }
  const CodeMap& map = map_of(holds_);
  const float scale = scales_[at / kCodeBlock];
  for (std::int64_t i = 0; i < part.count; ++i) numbers[i] = map.values[codes_[at + i]] * scale;
}

void CodedSlot::put_back(const CodeBlockPart& part, const CodeBlockBits& bits,
                         const float* numbers) const {
  const std::int64_t at = part.block.slot + part.first;
  if (halves_ != nullptr)
    round(at, part.count, bits, numbers);
  else
    encode(at, part.count, numbers);
}

// Rounds to bf16 at random. The two slots use different halves of an element's random bits.
void CodedSlot::round(std::int64_t at, std::int64_t count, const CodeBlockBits& bits,
                      const float* numbers) const {
  const int shift = holds_ == Holds::squares ? 16 : 0;
  for (std::int64_t i = 0; i < count; ++i)
    halves_[at + i].bits = round_at_random(numbers[i], bits.words[i] >> shift);
}

// Encodes numbers relative to their max magnitude, which becomes the code block's scale (Dettmers
// et al. 2022). If all are 0, so is the scale.
void CodedSlot::encode(std::int64_t at, std::int64_t count, const float* numbers) const {
  float largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(numbers[i]));
  largest = std::min(largest, FLT_MAX);
  scales_[at / kCodeBlock] = largest;
  const float over = largest > 0 ? largest : 1;
  const float* const between = map_of(holds_).between;
  for (std::int64_t i = 0; i < count; ++i) {
    const float share = numbers[i] / over;
    codes_[at + i] =
        static_cast<std::uint8_t>(holds_ == Holds::squares ? nearest_code_of_square(between, share)
                                                           : nearest_code(between, share));
  }
}

}  // namespace penstock::layers
