#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "configs/config.h"
#include "runtime/checkpoint/output_lock.h"
#include "runtime/supervisor/host_pool.h"
#include "runtime/supervisor/host_probe.h"
#include "runtime/supervisor/metrics_port.h"
#include "runtime/supervisor/pool_layout.h"
#include "runtime/supervisor/rank_watch.h"
#include "runtime/supervisor/restart_policy.h"
#include "runtime/supervisor/run_status.h"
#include "runtime/supervisor/stop_requests.h"
#include "runtime/supervisor/watched_job.h"

namespace penstock::runtime {

struct SupervisorOptions {
  configs::Config recipe;
  std::vector<std::string> words;  // recipe and overrides, as for `train`
  std::string program;             // path of penstock, the same on every host
  std::string version;             // that it must have there
  std::string mpirun = "mpirun";
  std::vector<std::string> mpi_options = {};
  HostSource hosts = {};
  /// Starts a command on a host: AGENT HOST COMMAND…. If empty, srun in a Slurm allocation, else
  /// ssh.
  std::string agent = {};
  double discover_s = 10;  // time between two looks at the hosts
  double wait_s = 3600;    // time to wait for hosts, if there are none
  double stop_s = 600;     // see WatchedJobOptions
  bool restart_stragglers = false;
  WatchLimits watch = {};
  RestartLimits restarts = {};
  HostRecord::Limits host_limits = {};
  NoticeOptions notices = {};
  MetricsPortOptions metrics = {};
  std::function<void(const std::string&)> say = [](const std::string&) {};  // to people
};

/// Keeps a training alive. It starts mpirun, watches the ranks, and starts them again after a
/// failure, on the hosts that are left and from the newest checkpoint. It stops them to use hosts
/// that have come back. Results do not depend on any of this: a resumed run on any layout has the
/// bits of an undisturbed one.
///
/// An incarnation is one start of the ranks. Before each, the processes of the last one are ended,
/// and a new incarnation number keeps those that can't be reached from committing a checkpoint.
class Supervisor {
 public:
  /// Locks the output folder. ConfigError and CheckpointError as from OutputLock, StopRequests and
  /// MetricsPort.
  explicit Supervisor(SupervisorOptions options);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Runs until the training is done, is stopped, or can't go on. Returns the exit code: 0 when all
  /// steps are done, 85 after a stop that lost nothing, 86 if it gives up after a hang, 130 after a
  /// second Ctrl-C, else the code of the ranks' error.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  std::vector<PoolHost> hosts_now();
  std::optional<std::vector<PoolHost>> await_hosts();
  struct HostLook {
    std::vector<PoolHost> listed;
    std::vector<HostAnswer> answers;  // empty for hosts that were not asked
  };
  HostLook look(const std::vector<PoolHost>& running) const;
  std::vector<PoolHost> usable_hosts(const HostLook& look);
  void await_free_output();
  WatchedJobEnd run_incarnation(const std::vector<PoolHost>& hosts);
  MpiJobSpec job_spec(const std::vector<PoolHost>& hosts) const;
  JobWishes wishes(const RankWatch& watch, double trained_s);
  void look_for_hosts(const RankWatch& watch);
  std::optional<int> conclude(const WatchedJobEnd& ended);
  std::string listed_name(const std::string& machine) const;
  void count_host_failure(const std::string& host);
  void report(Incident incident);
  void write_status();
  std::int64_t newest_checkpoint() const;

  SupervisorOptions options_;
  std::filesystem::path output_;
  std::string token_;                // names the processes of the run
  std::filesystem::path temporary_;  // for Open MPI's files
  StopRequests stops_;
  OutputLock lock_;
  MetricsPort metrics_;
  PoolLayouts layouts_;
  HostRecord record_;
  std::map<std::string, std::string> listed_names_;  // of hosts, by their own names
  std::map<std::string, std::string> faults_;        // that were reported, by host
  std::string fault_of_list_;
  std::vector<PoolHost> hosts_;  // of the current incarnation; empty: this machine
  PoolLayout layout_;
  bool resize_ = false;  // the current incarnation is to end for another layout
  RunStatus status_;
  double trained_s_ = 0;  // in earlier incarnations
  std::unique_ptr<RestartPolicy> policy_;
  Clock::time_point looked_ = {}, wrote_ = {};
  std::future<HostLook> looking_;  // last: its thread uses the others
};

}  // namespace penstock::runtime
