#pragma once

#include <filesystem>

namespace penstock {

/// Bytes of this machine's memory, whoever uses it, or fewer where the process's control groups,
/// those of a container or of a batch system's job, allow no more.
[[nodiscard]] double host_memory();

/// What the control groups allow that `groups` lists, as /proc/self/cgroup does, and those around
/// them; infinite where none has a limit. `root` has the file systems of both versions:
/// man 7 cgroups.
[[nodiscard]] double cgroup_memory(const std::filesystem::path& groups,
                                   const std::filesystem::path& root);

}  // namespace penstock
