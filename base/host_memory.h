#pragma once

#include <filesystem>

namespace penstock {

/// Returns the bytes of this machine's memory, whoever uses it, or fewer if the process's control
/// groups (those of a container or of a batch system's job) allow fewer.
[[nodiscard]] double host_memory();

/// Returns the bytes that the control groups listed in `groups` and their parents allow; infinite
/// if none has a limit. `groups` has the form of /proc/self/cgroup, and `root` the file systems of
/// both versions (man 7 cgroups).
[[nodiscard]] double cgroup_memory(const std::filesystem::path& groups,
                                   const std::filesystem::path& root);

}  // namespace penstock
