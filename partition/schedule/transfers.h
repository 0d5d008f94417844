#pragma once

#include "partition/schedule/schedule.h"

namespace penstock::partition {

/// Where a receive is put into the list of the rank that consumes the message.
enum class Posting {
  one_ahead,  // one computation before the one that waits, so that the message travels meanwhile
  when_sent,  // or before what that rank does when the message is sent, where that comes first:
              // then no send waits for ever, whatever the lists
};

/// Completes lists that hold only computation, reduce and step: every send follows its computation
/// at once and puts the matching receive into the list of its consumer. Receives of an edge are
/// posted in the order of its sends.
Schedule with_transfers(Schedule computation, Posting posting = Posting::one_ahead);

}  // namespace penstock::partition
