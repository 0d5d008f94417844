#pragma once

#include <functional>

#include "comm/communicator.h"

namespace penstock::test {

/// Runs `body` in so many processes, one for each rank. They meet in a folder, and a rank that
/// waits for a message looks for it 50 times a second, so that the others have the cores. True if
/// all ended well; what one raises is printed, and ends all.
bool run_as_processes(int ranks, const std::function<void(comm::Communicator&)>& body);

}  // namespace penstock::test
