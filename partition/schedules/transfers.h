#pragma once

#include "partition/schedule.h"

namespace penstock {

/// Completes lists that hold only computation, reduce and step: every send follows its computation
/// at once and puts the matching receive into the list of its consumer, one computation before the
/// one that waits for it, so that the message travels meanwhile. Receives of an edge are posted
/// in the order of its sends.
Schedule with_transfers(Schedule computation);

}  // namespace penstock
