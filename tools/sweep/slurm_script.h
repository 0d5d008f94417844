#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::tools {

/// Returns a job script for sbatch: an array with a task for each run, of which `parallel` run at
/// once. A task runs `command`, the words of `penstock sweep`, with --only and its run's number,
/// and requeues itself while there is work, like the script in docs/clusters.md.
[[nodiscard]] std::string slurm_script(const std::vector<std::string>& command, std::size_t runs,
                                       std::size_t parallel);

}  // namespace penstock::tools
