#pragma once

#include <chrono>

namespace penstock::tools {

/// Ends this process with `code` if it is still there after so long: what a rank that failed gives
/// back, NCCL's communicators and memory of a device, may wait for ever.
void end_process_within(std::chrono::milliseconds limit, int code);

}  // namespace penstock::tools
