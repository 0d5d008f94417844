#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

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

}  // namespace penstock::partition
