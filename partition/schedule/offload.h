#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Micro-batches of a chunk that its list itself holds at once, at least, whatever else leaves for
/// the host: one that computes, those between the two halves of their backward, and those whose
/// output has still to pass to the next chunk of the same rank.
[[nodiscard]] int least_resident(const Schedule& schedule, int chunk);

/// Complete lists, in which of every chunk at most `resident` micro-batches keep their activations
/// on the device, or least_resident() where that is more; 0: all do. Where another one needs room,
/// the one whose backward comes last is offloaded (Belady, 1966), right after it has passed its
/// output on. Reloads follow in the order of backward, each as early as there is room. What other
/// ranks see stays as it is, and so does what is forward only.
Schedule with_offload(Schedule schedule, int resident);

}  // namespace penstock::partition
