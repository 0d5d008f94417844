#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"

namespace penstock::test {

// Every communicator must pass these cases, with any number of ranks, on threads and under mpirun.

void messages_keep_their_order_on_each_channel(comm::Communicator&);
void long_messages_arrive_while_the_receiver_computes(comm::Communicator&);
void empty_messages_arrive(comm::Communicator&);
void ring_of_long_messages_does_not_deadlock(comm::Communicator&);
void collectives_agree(comm::Communicator&);
void groups_do_not_mix(comm::Communicator&);

/// Seeded bytes, different for each seed.
std::vector<std::byte> noise(std::size_t bytes, std::uint64_t seed);

}  // namespace penstock::test
