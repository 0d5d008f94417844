#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

// Two chunks per rank, down the ranks and up again as in zb_v(), with less memory. All
// micro-batches repeat one pattern of slots, whose distances bound how many are held (Qi et al.
// 2024: Pipeline Parallelism with Controllable Memory). F, B and W take one slot on a chunk. Before
// the pattern is full, and once forwards run out, passes run as soon as memory allows. p is the
// number of ranks, m that of micro-batches.

/// At most 2⌊(p+2)/2⌋ pairs of chunk and micro-batch are in flight on every rank: little more than
/// half the memory of 1F1B's first stage. Let F = B = W = 1 on a rank, p > 2 and m large. Then the
/// makespan is 3m + 3p/2 - 7/2 for even p, and 3m + 3p/2 - 2 for odd p.
Schedule v_half(int stages, int micro_batches);

/// At most 2⌊(p+4)/3⌋ pairs are in flight on every rank, little more than a third. Under the same
/// conditions the makespan is 3m + 2p - 5/2, or 1 less if 3 divides p.
Schedule v_min(int stages, int micro_batches);

}  // namespace penstock::partition
