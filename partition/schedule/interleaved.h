#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// 1F1B over v chunks per rank, where v is Megatron-LM's virtual pipeline size: rank r holds chunks
/// r, p+r, 2p+r and so on. Micro-batches pass the chunks in ⌊m/p⌋ groups of at least p, whose sizes
/// differ by one at most. If m < p, there is one group.
///
/// With g micro-batches in the largest group, rank s runs 2(p-1-s) + (v-1)g forwards ahead. The
/// bubble is (p-1)(F+B)/v for any m >= p, where B is the whole backward. At most 2(p-s-1) + (v-1)g
/// + 1 pairs of chunk and micro-batch are in flight. If p divides m, this is the schedule of
/// Narayanan et al. 2021. Its name is "interleaved" for two chunks, otherwise "interleaved-v".
Schedule interleaved(int stages, int micro_batches, int chunks);

}  // namespace penstock::partition
