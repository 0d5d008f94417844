#pragma once

#include <string>

namespace penstock::tools {

/// `penstock bench --links`: bandwidth and latency of every edge between the ranks of the job, on
/// the devices that trainer.device = `device` gives them, printed by rank 0.
int run_links(const std::string& device, bool json);

}  // namespace penstock::tools
