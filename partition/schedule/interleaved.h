#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// 1F1B over v chunks a rank, Megatron-LM's virtual pipeline size: rank r holds chunks r, p+r, 2p+r
/// and so on. Micro-batches go through one chunk after the other in ⌊m/p⌋ groups of at least p,
/// which differ by one at most; where m < p, in one. With g in the largest, rank s runs 2(p-1-s) +
/// (v-1)g forwards ahead. Bubble (p-1)(F+B)/v with the whole backward B for any m >= p; at most
/// 2(p-s-1) + (v-1)g + 1 pairs of chunk and micro-batch in flight. Where p divides m this is
/// Narayanan et al. 2021. Its name is "interleaved" for two chunks, else "interleaved-v".
Schedule interleaved(int stages, int micro_batches, int chunks);

}  // namespace penstock::partition
