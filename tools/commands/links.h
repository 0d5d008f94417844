#pragma once

#include <string>

namespace penstock::tools {

/// Runs `penstock bench --links`: rank 0 prints bandwidth and latency of every edge between the
/// ranks of the job, on the devices that trainer.device = `device` gives them.
int run_links(const std::string& device, bool json);

}  // namespace penstock::tools
