#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// 1F1B over two chunks a rank: rank r holds chunks r and p+r. Micro-batches go through one chunk
/// after the other in ⌊m/p⌋ groups of at least p, which differ by one at most; where m < p, in one.
/// With g in the largest, rank s runs 2(p-1-s) + g forwards ahead. Bubble (p-1)(F+B)/2 with the
/// whole backward B for any m >= p; at most 2(p-s-1) + g + 1 pairs of chunk and micro-batch in
/// flight. Where p divides m this is Narayanan et al. 2021.
Schedule interleaved(int stages, int micro_batches);

}  // namespace penstock::partition
