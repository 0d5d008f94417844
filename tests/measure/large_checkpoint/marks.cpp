#include "tests/measure/large_checkpoint/marks.h"

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "runtime/data/batch/sample_hash.h"

namespace penstock::test {
namespace {

constexpr std::int64_t kStride = 1 << 18;  // elements of 4 bytes

using runtime::CheckpointPiece;

/// Calls `visit` with each marked element of [begin, end), of a tensor of `count` elements.
void for_marked(std::int64_t begin, std::int64_t end, std::int64_t count,
                const std::function<void(std::int64_t)>& visit) {
  const std::int64_t last = count - 1;
  for (std::int64_t i = (begin + kStride - 1) / kStride * kStride; i < end; i += kStride) visit(i);
  if (last % kStride != 0 && last >= begin && last < end) visit(last);
}

/// 1 to 2, exact in FP32.
float mark(std::uint64_t name, std::int64_t element) {
  const std::uint64_t bits =
      runtime::sample_hash(runtime::SampleKind::order, name, {static_cast<std::uint64_t>(element)});
  return 1 + static_cast<float>(bits % (1 << 20)) / (1 << 20);
}

void visit_marks(const CheckpointPiece& piece,
                 const std::function<void(std::int64_t element, float mark)>& visit) {
  if (piece.dtype != layers::DType::f32) throw CheckpointError("marks are of FP32");
  const std::uint64_t name = std::hash<std::string>()(piece.name);
  for_marked(piece.begin, piece.end, layers::element_count(piece.full_shape),
             [&](std::int64_t element) { visit(element, mark(name, element)); });
}

void expect(const CheckpointPiece& piece, std::int64_t element, float expected) {
  const float found = static_cast<const float*>(piece.data)[element - piece.begin];
  if (found != expected)
    throw CheckpointError(fmt::format("element {} of '{}' is {:.9g}, expected {:.9g}", element,
                                      piece.name, found, expected));
}

}  // namespace

void set_marks(std::span<const CheckpointPiece> pieces) {
  for (const CheckpointPiece& piece : pieces)
    visit_marks(piece, [&](std::int64_t element, float mark) {
      auto* numbers = static_cast<float*>(const_cast<void*>(piece.data));
      numbers[element - piece.begin] = mark;
    });
}

std::int64_t count_marks(std::span<const CheckpointPiece> pieces) {
  std::int64_t count = 0;
  for (const CheckpointPiece& piece : pieces) {
    const std::int64_t last = layers::element_count(piece.full_shape) - 1;
    visit_marks(piece, [&](std::int64_t element, float mark) {
      expect(piece, element, mark);
      if (element + 1 < piece.end && element + 1 != last) expect(piece, element + 1, 0);
      ++count;
    });
  }
  return count;
}

std::int64_t marks_of(const runtime::Checkpoint& checkpoint, runtime::Verified what) {
  std::int64_t count = 0;
  for (const auto& [name, tensor] : checkpoint.tensors()) {
    if (what == runtime::Verified::read && name.starts_with(runtime::kSlotTensors)) continue;
    const std::int64_t elements = layers::element_count(tensor.shape);
    for_marked(0, elements, elements, [&](std::int64_t) { ++count; });
  }
  return count;
}

}  // namespace penstock::test
