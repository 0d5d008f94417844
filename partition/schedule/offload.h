#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Returns the minimum number of micro-batches of a chunk that must be on the device at once, even
/// if all others are offloaded. These are the one that computes and those between the two halves of
/// their backward. Those whose output has not yet passed to the next chunk of the same rank count
/// too.
[[nodiscard]] int min_resident(const Schedule& schedule, int chunk);

/// Adds offloads and reloads to complete lists. At most `resident` micro-batches of every chunk, or
/// min_resident() if that is more, keep their activations on the device; 0 keeps all. If a slot
/// is needed, the micro-batch whose backward comes last is offloaded (Belady 1966), right after its
/// output has been passed on. Reloads follow in the order of backward, each as early as a slot is
/// free. What other ranks see does not change. A forward-only schedule is returned unchanged.
Schedule with_offload(Schedule schedule, int resident);

}  // namespace penstock::partition
