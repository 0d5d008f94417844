#include "base/host_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace penstock {
namespace {

namespace fs = std::filesystem;

/// Returns the number in a file; infinite if there is none, or if it says "max".
double limit_in(const fs::path& file) {
  std::ifstream in(file);
  double bytes = 0;
  return in >> bytes ? bytes : std::numeric_limits<double>::infinity();
}

/// Returns the smallest limit of a group and of all groups that contain it.
double min_limit(const fs::path& root, fs::path group, const char* file) {
  double min = limit_in(root / file);
  for (; group.has_relative_path(); group = group.parent_path())
    min = std::min(min, limit_in(root / group.relative_path() / file));
  return min;
}

/// Returns true if a list such as "cpu,memory" has the memory controller.
bool has_memory(const std::string& controllers) {
  std::istringstream all(controllers);
  for (std::string one; std::getline(all, one, ',');)
    if (one == "memory") return true;
  return false;
}

}  // namespace

// Lines read "number:controllers:group". Version 2 of control groups has one line without
// controllers; version 1 has a line for each set of them, and a file system for each.
double cgroup_memory(const fs::path& groups, const fs::path& root) {
  double min = std::numeric_limits<double>::infinity();
  std::ifstream in(groups);
  for (std::string number, controllers, group; std::getline(in, number, ':') &&
                                               std::getline(in, controllers, ':') &&
                                               std::getline(in, group);) {
    if (controllers.empty())
      min = std::min(min, min_limit(root, group, "memory.max"));
    else if (has_memory(controllers))
      min = std::min(min, min_limit(root / "memory", group, "memory.limit_in_bytes"));
  }
  return min;
}

double host_memory() {
  const double physical =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::min(physical, cgroup_memory("/proc/self/cgroup", "/sys/fs/cgroup"));
}

}  // namespace penstock
