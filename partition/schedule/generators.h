#pragma once

#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

// These functions make the lists of every kind of schedule. make_schedule() chooses one by name.

// Schedules of one chunk per rank: stage s is chunk s on rank s. p is the number of stages, and m
// the number of micro-batches. F, B and W are the seconds of forward, input gradient and weight
// gradient.

/// Runs all forwards, then all backwards, both in micro-batch order. The bubble is (p-1)(F+B), and
/// the activations of all micro-batches are in flight (Huang et al. 2019).
Schedule gpipe(int stages, int micro_batches);

/// Stage s runs p-1-s forwards ahead, then alternates one forward and one backward. The bubble is
/// that of GPipe, but only min(m, p-s) activations are in flight (Narayanan et al. 2019).
Schedule one_forward_one_backward(int stages, int micro_batches);

/// 1F1B with split backward (B and W): weight gradients fill the time in which 1F1B is idle at the
/// end. Stage s runs p-1-s forwards ahead and delays s weight gradients. The bubble is
/// (p-1)(F+B-W). Stage s has p-s micro-batches between forward and input gradient, and min(m, p)
/// between forward and weight gradient (Qi et al. 2024, section 2.1).
Schedule zb_h1(int stages, int micro_batches);

/// ZB-H1 with twice the forwards ahead, which fill the start, and twice as many weight gradients
/// delayed, which fill the end. Every rank is busy from its first action to its last if F = B = W.
/// The bubble is (p-1)(F+B-2W). Stage s has 2(p-s)-1 micro-batches between forward and input
/// gradient, and min(m, 2p-1) between forward and weight gradient (Qi et al. 2024, section 2.2).
Schedule zb_h2(int stages, int micro_batches);

/// 1F1B over v chunks per rank, where v is Megatron-LM's virtual pipeline size: rank r holds chunks
/// r, p+r, 2p+r and so on. Micro-batches pass the chunks in ⌊m/p⌋ groups of at least p, whose sizes
/// differ by one at most. If m < p, there is one group.
///
/// With g micro-batches in the largest group, rank s runs 2(p-1-s) + (v-1)g forwards ahead. The
/// bubble is (p-1)(F+B)/v for any m >= p, where B is the whole backward. At most 2(p-s-1) + (v-1)g
/// + 1 pairs of chunk and micro-batch are in flight. If p divides m, this is the schedule of
/// Narayanan et al. 2021. Its name is "interleaved" for two chunks, otherwise "interleaved-v".
Schedule interleaved(int stages, int micro_batches, int chunks);

/// Two chunks per rank, down the ranks and up again: rank r holds chunks r and 2p-1-r. So the loss
/// and the features are on rank 0. There is no bubble if F = B = W. At most 2p pairs of chunk and
/// micro-batch are in flight on every rank, the memory of 1F1B's first stage (Qi et al. 2024:
/// Pipeline Parallelism with Controllable Memory). The order of actions is that of PyTorch's
/// ScheduleZBVZeroBubble.
Schedule zb_v(int stages, int micro_batches);

/// DualPipe (DeepSeek-AI 2024) cut in half: each rank holds two chunks, down the ranks and up again
/// as in zb_v(). While forwards last, each forward of one chunk is paired with a backward of the
/// other chunk and another micro-batch. So the messages of both travel while the rank computes.
/// Weight gradients are delayed only where ranks would be idle: at the start and at the end.
///
/// The bubble is (p-1)(F+B-W)/2 if F = B = W and m >= 2p. At most 2p+1 pairs of chunk and
/// micro-batch are in flight on every rank. The order of actions is that of DeepSeek's
/// dualpipev.py, with a whole backward as an input gradient and a weight gradient.
Schedule dualpipe_v(int stages, int micro_batches);

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

/// Returns a schedule of forwards alone over the chunks of a training schedule, for validation,
/// evaluation and transcription. Each chunk runs the micro-batches in order. A rank with several
/// chunks always runs its last chunk that has an input, as if all chunks took equally long. So it
/// starts new micro-batches only while older ones are on other ranks, and holds few.
Schedule forward_only(std::vector<int> chunk_rank, int micro_batches);

}  // namespace penstock::partition
