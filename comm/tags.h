#pragma once

namespace penstock::comm::tags {

// Tags of one communicator. Every sender takes its tag from here, so no two uses of a pair of ranks
// can mix their messages. MPI carries it as its own tag.

/// Tags of collectives.h. Every rank makes these calls in the same order, so one tag each is
/// enough.
inline constexpr int barrier = 1000;
inline constexpr int broadcast = 1001;
inline constexpr int gather = 1002;
inline constexpr int sum = 1003;

/// Tag of link_end.h.
inline constexpr int link = 1004;

/// Tag of the ids with which ranks connect over NCCL.
inline constexpr int nccl = 1005;

/// Tag of all_gather.h.
inline constexpr int all_gather = 1006;

/// Tags of links/clocks.h and links/measure_links.h of runtime/profiling.
inline constexpr int clock = 1007;
inline constexpr int link_effort = 1008;

/// First tag of disjoint_sum.h, which takes one for each round.
inline constexpr int late_sum = 1009;
inline constexpr int late_sum_rounds = 8;  // enough for the ranks that an int counts

/// Tag of the logits of one recording.
inline constexpr int logits = 1017;

/// Tag of the exit codes of ranks that fail: common_failure.h.
inline constexpr int failure = 1018;

/// Tag of the labels that a decoder has written: runtime/pipeline/text_generation.h.
inline constexpr int written = 1019;

/// Tag of sums and weights of tied parameters: runtime/pipeline/tied_weights.h.
inline constexpr int tied = 1020;

/// First tag of pipeline edges (runtime/pipeline/edge_tag.h), which take two for each chunk: for
/// activations and for gradients.
inline constexpr int edges = 1 << 12;
inline constexpr int edge_chunks = 1 << 14;

/// First tag of lane_reduction.h, which takes two for each bucket: for its sums and for their
/// gather.
inline constexpr int reduction = 1 << 16;
inline constexpr int reduction_buckets = 1 << 18;

/// Distance between the tags of groups (group.h). Groups that share two ranks use different
/// multiples of it.
inline constexpr int group_stride = 1 << 20;

static_assert(tied < edges && edges + 2 * edge_chunks <= reduction &&
              reduction + 2 * reduction_buckets <= group_stride);

/// Returns true if the tag is that of a pipeline edge, in any group.
constexpr bool is_edge(int tag) {
  const int within_group = tag % group_stride;
  return within_group >= edges && within_group < edges + 2 * edge_chunks;
}

}  // namespace penstock::comm::tags
