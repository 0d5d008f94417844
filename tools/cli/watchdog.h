#pragma once

#include <chrono>

namespace penstock::tools {

/// Ends this process with `code` if it still runs after `limit`. A failed rank that frees NCCL's
/// communicators or device memory may wait for ever.
void end_process_within(std::chrono::milliseconds limit, int code);

}  // namespace penstock::tools
