#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// 1F1B over two chunks a rank: rank r holds chunks r and p+r. Micro-batches go in groups of p
/// (the last may be smaller) through one chunk after the other; rank s runs 2(p-1-s) + p
/// forwards ahead. Bubble (p-1)(F+B)/2 with the whole backward B where p divides m; at most
/// 2(p-s-1) + p + 1 pairs of chunk and micro-batch in flight (Narayanan et al. 2021).
Schedule interleaved(int stages, int micro_batches);

}  // namespace penstock::partition
