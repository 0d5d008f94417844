#pragma once

namespace penstock::tools {

/// `penstock bench --links`: bandwidth and latency of every edge between the ranks of the job,
/// printed by rank 0.
int run_links(bool json);

}  // namespace penstock::tools
