#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

// Two chunks a rank, down the ranks and up again as zb_v, in less memory: all micro-batches repeat
// one pattern of slots, whose distances say how many are held (Qi et al. 2024: Pipeline Parallelism
// with Controllable Memory). F, B and W take a slot on a chunk. Before the pattern is full, and
// once forwards run out, passes run as soon as memory allows. p is the number of ranks.

/// At most 2⌊(p+2)/2⌋ pairs of chunk and micro-batch in flight on every rank: little more than half
/// the memory of 1F1B's first stage. Where F = B = W = 1 on a rank, makespan 3m + 3p/2 - 7/2 for
/// even p and 3m + 3p/2 - 2 for odd, for p > 2 and large m.
Schedule v_half(int stages, int micro_batches);

/// At most 2⌊(p+4)/3⌋ pairs, little more than a third. Makespan 3m + 2p - 5/2, 1 less where 3
/// divides p, for large m.
Schedule v_min(int stages, int micro_batches);

}  // namespace penstock::partition
