#pragma once

namespace penstock::comm::tags {

// Tags of one communicator. Whoever sends takes its tag from here, so that no two uses of a pair of
// ranks can mix their messages. MPI carries it as its own tag.

/// 0 … 999: edges of the pipeline (producing chunk, consuming chunk, kind).
inline constexpr int edges = 0;

/// Of collectives.h; a call follows the one before in the same order on every rank.
inline constexpr int barrier = 1000;
inline constexpr int broadcast = 1001;
inline constexpr int gather = 1002;
inline constexpr int sum = 1003;

/// Of link_end.h.
inline constexpr int link = 1004;

/// Ids with which ranks connect over NCCL.
inline constexpr int nccl = 1005;

/// Of all_gather.h.
inline constexpr int all_gather = 1006;

/// Of clock_offset.h and measure_links.h.
inline constexpr int clock = 1007;
inline constexpr int told_of_link = 1008;

/// Of disjoint_sum.h: one for each round.
inline constexpr int late_sum = 1009;
inline constexpr int late_sum_rounds = 8;  // of as many ranks as an int counts

/// Of the logits of one recording.
inline constexpr int logits = 1017;

/// Exit codes of ranks that fail: common_failure.h.
inline constexpr int failure = 1018;

/// Of lane_reduction.h: two tags for each bucket, of its sums and of their gather.
inline constexpr int reduction = 1 << 16;
inline constexpr int reduction_buckets = 1 << 18;

/// Distance between the tags of groups (group.h): groups that share two ranks take different
/// multiples of it.
inline constexpr int group_stride = 1 << 20;

}  // namespace penstock::comm::tags
