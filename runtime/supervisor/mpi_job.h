#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/job/heartbeat.h"
#include "runtime/supervisor/child_process.h"
#include "runtime/supervisor/host_pool.h"

namespace penstock::runtime {

/// One incarnation of a run, as mpirun starts it.
struct MpiJobSpec {
  std::string mpirun = "mpirun";
  std::vector<std::string> mpi_options = {};  // the user's, after penstock's own
  std::vector<std::string> words = {};        // program and arguments of every rank
  int ranks = 1;
  std::vector<PoolHost> hosts = {};  // empty: this machine
  std::int64_t incarnation = 1;
  std::string token = {};  // unique to the run: names its processes, see end_processes()
  std::filesystem::path temporary = {};  // folder for Open MPI's files on this machine
};

/// Returns the command line and environment of the job.
[[nodiscard]] Command mpi_command(const MpiJobSpec& spec);

/// Callbacks for what the job prints.
struct JobOutput {
  std::function<void(const RankActivity&)> activity;
  std::function<void(const RankEnd&)> end;
  std::function<void(const std::string&)> output;  // other lines of standard output
  std::function<void(const std::string&)> errors;  // bytes of standard error
};

/// A job under mpirun. The heartbeats of its ranks arrive on its standard output.
class [[nodiscard]] MpiJob {
 public:
  /// Starts it. Error if mpirun can't be started.
  MpiJob(const MpiJobSpec& spec, JobOutput output);

  int output() const { return child_.output(); }
  int errors() const { return child_.errors(); }

  /// Passes on what the job has printed, without waiting.
  void read();
  /// Returns mpirun's exit code once it has ended and all that it printed was passed on.
  [[nodiscard]] std::optional<int> ended();

  /// Asks all ranks to save and stop: mpirun passes SIGUSR1 on to them.
  void ask_to_stop();
  /// Ends mpirun and its ranks, and waits until mpirun has ended.
  void end_by_force();

  /// Returns the last lines on standard error.
  const std::string& last_errors() const { return last_errors_; }

 private:
  void pass_lines(bool closed);

  JobOutput output_to_;
  std::string lines_, last_errors_;  // an unfinished line; the last bytes
  bool output_open_ = true, errors_open_ = true;
  ChildProcess child_;
};

/// A rank that a signal killed, as mpirun reports it.
struct KilledRank {
  int rank = 0;
  std::string host;
  int signal = 0;
};

/// Finds Open MPI's report of a killed rank in what mpirun printed.
[[nodiscard]] std::optional<KilledRank> find_killed_rank(const std::string& errors);

/// Finds Open MPI's report of a host whose daemon it can't reach any more. Returns its own name.
[[nodiscard]] std::optional<std::string> find_lost_host(const std::string& errors);

/// Kills every process of this machine, except this one, whose environment has PENSTOCK_JOB =
/// `token`, and waits until they are gone. Returns how many there were. Processes of other users
/// can't be seen.
int end_processes(const std::string& token);

inline constexpr const char* kJobToken = "PENSTOCK_JOB";

}  // namespace penstock::runtime
