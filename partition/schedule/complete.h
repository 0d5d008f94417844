#pragma once

#include <functional>
#include <string>
#include <vector>

#include "partition/schedule/schedule.h"

namespace penstock::partition {

// These functions complete lists that hold only computation: by transfers, ends and offloads.

/// The position of a receive in the list of the rank that consumes the message.
enum class Posting {
  one_ahead,  // one computation before the consumer, so that the message travels meanwhile
  // Like one_ahead, or earlier: before the action at which the consumer's rank stands when the
  // message is sent. Then no send waits for ever, whatever the lists.
  when_sent,
};

/// Completes lists that hold only computation, reduce and step. Every computation whose result
/// another rank needs is followed at once by its send, and the matching receive is inserted into
/// the consumer's list. Receives of an edge are posted in the order of its sends.
Schedule with_transfers(Schedule computation, Posting posting = Posting::one_ahead);

/// Appends a reduce after the last weight gradient of each chunk, and a step at the end of every
/// rank's list. A forward-only schedule is returned unchanged.
Schedule with_ends(Schedule schedule);

/// Completes lists that hold only computation: adds reduces, steps and transfers. Receives are
/// posted one computation ahead if that cannot deadlock, otherwise when their message is sent.
/// Lists that are not sound stay unsound: see validate().
Schedule complete(Schedule computation);

/// Returns a complete schedule of one chunk per rank: stage s is chunk s on rank s and computes
/// what `list(s)` holds.
Schedule in_line(std::string name, int stages, int micro_batches,
                 const std::function<std::vector<Action>(int stage)>& list);

/// Returns the minimum number of micro-batches of a chunk that must be on the device at once, even
/// if all others are offloaded. These are the one that computes and those between the two halves of
/// their backward. Those whose output has not yet passed to the next chunk of the same rank count
/// too.
[[nodiscard]] int min_resident(const Schedule& schedule, int chunk);

/// Adds offloads and reloads to complete lists. At most `resident` micro-batches of every chunk, or
/// min_resident() if that is more, keep their activations on the device; 0 keeps all. If a slot
/// is needed, the micro-batch whose backward comes last is offloaded (Belady 1966), right after its
/// output has been passed on. Reloads follow in the order of backward, each as early as a slot is
/// free. What other ranks see does not change. A forward-only schedule is returned unchanged.
Schedule with_offload(Schedule schedule, int resident);

}  // namespace penstock::partition
