#include "runtime/checkpoint/safetensors/read_floats.h"

#include <algorithm>
#include <vector>

namespace penstock::runtime {
namespace {

constexpr std::size_t kAtOnce = 1 << 16;  // half-precision numbers converted at a time

template <class HalfFormat>
void read_halves(const Checkpoint& checkpoint, std::string_view name, std::int64_t begin,
                 std::span<float> out) {
  std::vector<HalfFormat> halves(std::min(out.size(), kAtOnce));
  while (!out.empty()) {
    const auto part = std::span(halves).first(std::min(out.size(), halves.size()));
    checkpoint.read(name, begin, begin + std::ssize(part), std::as_writable_bytes(part));
    std::ranges::transform(part, out.begin(), [](HalfFormat x) { return layers::to_float(x); });
    out = out.subspan(part.size());
    begin += std::ssize(part);
  }
}

}  // namespace

void expect_floats(const Checkpoint& checkpoint, std::string_view name,
                   const layers::Shape& shape) {
  const layers::DType stored = checkpoint.tensor(name).dtype;
  checkpoint.expect(name, layers::is_half(stored) ? stored : layers::DType::f32, shape);
}

void read_floats(const Checkpoint& checkpoint, std::string_view name, std::int64_t begin,
                 std::span<float> out) {
  const layers::DType stored = checkpoint.tensor(name).dtype;
  if (stored == layers::DType::f16) return read_halves<layers::Half>(checkpoint, name, begin, out);
  if (stored == layers::DType::bf16)
    return read_halves<layers::BFloat16>(checkpoint, name, begin, out);
  checkpoint.read(name, begin, begin + std::ssize(out), std::as_writable_bytes(out));
}

}  // namespace penstock::runtime
