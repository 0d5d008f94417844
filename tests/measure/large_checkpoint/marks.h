#pragma once

#include <cstdint>
#include <span>

#include "runtime/checkpoint/checkpoint.h"

namespace penstock::test {

// A state of zeros but for marks, by which elements are known again wherever they have come: one in
// each MiB of a tensor, and its last element. A mark follows from the tensor's name and its place.

/// Marks pieces of FP32, which the host can reach.
void set_marks(std::span<const runtime::CheckpointPiece> pieces);

/// How many marks are in these pieces. CheckpointError that names the first element that is not
/// what it was marked as, or is no zero after a mark.
std::int64_t count_marks(std::span<const runtime::CheckpointPiece> pieces);

/// How many are in all that a checkpoint holds, or in its weights alone.
std::int64_t marks_of(const runtime::Checkpoint& checkpoint, runtime::Verified what);

}  // namespace penstock::test
