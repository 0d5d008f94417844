#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// A host and the number of ranks that it can run.
struct PoolHost {
  std::string name;
  int slots = 1;
  bool operator==(const PoolHost&) const = default;
};

/// Parses a list of hosts as Open MPI's host files and discovery scripts write it: a line for each
/// host, "node-1 slots=4" or "node-1:4" or "node-1", with comments after '#'. `source` names the
/// text in errors. ConfigError for another line, with its number, and for a host that stands twice.
[[nodiscard]] std::vector<PoolHost> parse_hosts(std::string_view text, const std::string& source);

/// Parses Slurm's SLURM_TASKS_PER_NODE, such as "4(x2),3", which means 4, 4, 3. ConfigError for
/// another text.
[[nodiscard]] std::vector<int> parse_tasks_per_node(const std::string& text);

/// Says how the hosts of a run are found. If all members are empty, the run is on this machine
/// alone.
struct HostSource {
  std::string file = {};      // of parse_hosts(), read again each time
  std::string discover = {};  // shell command that prints such a list
  bool slurm = false;         // this process runs in an allocation of Slurm

  bool local() const { return file.empty() && discover.empty() && !slurm; }
};

/// Returns the hosts that the source has now. Throws ConfigError if the command fails, takes more
/// than 30 s, or prints something else; FileError if the file can't be read.
[[nodiscard]] std::vector<PoolHost> find_hosts(const HostSource& source);

/// Keeps count of each host's failures. A host that fails max_failures times is excluded for some
/// time, after which its count starts again.
class HostRecord {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Limits {
    int max_failures = 3;
    double excluded_s = 3600;
  };
  explicit HostRecord(Limits limits) : limits_(limits) {}

  /// Counts a failure. Returns true if the host is excluded from now on.
  bool count_failure(const std::string& host, Time now);
  [[nodiscard]] bool excluded(const std::string& host, Time now) const;
  /// Returns the hosts that are not excluded.
  [[nodiscard]] std::vector<PoolHost> usable(const std::vector<PoolHost>& hosts, Time now) const;

 private:
  struct Entry {
    int failures = 0;
    Time excluded_until = {};
  };
  Limits limits_;
  std::map<std::string, Entry> hosts_;
};

/// Returns the sum of the hosts' slots.
[[nodiscard]] int count_slots(const std::vector<PoolHost>& hosts);

/// Returns as many of the first slots as `ranks` need, at most all.
[[nodiscard]] std::vector<PoolHost> first_slots(const std::vector<PoolHost>& hosts, int ranks);

}  // namespace penstock::runtime
