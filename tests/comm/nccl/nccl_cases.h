#pragma once

#include "comm/communicator.h"

namespace penstock::comm {

// These functions test NCCL between the ranks of `world`, however many. Each rank has its own
// device, or all share the only one.

/// Messages of a few bytes and of more than NCCL buffers, from rank to rank.
void nccl_passes_messages_down_the_line(Communicator& world);
void nccl_adds_over_all_ranks(Communicator& world);
/// Steps of DeepSpeech2 in as many stages as ranks, and in half as many with two replicas, are
/// those of one stage, in every schedule.
void nccl_trains_as_one_stage(Communicator& world);
/// The same of two replicas, of half as many stages as ranks, whose gradients NCCL adds in its own
/// order.
void nccl_adds_two_replicas_itself(Communicator& world);

}  // namespace penstock::comm
