#include "runtime/supervisor/supervisor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <thread>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/quantities.h"
#include "configs/value.h"
#include "runtime/checkpoint/incarnation.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/remote/remote_output.h"
#include "runtime/devices/rank_info.h"
#include "runtime/job/exit_code.h"
#include "runtime/planning/planning.h"
#include "runtime/supervisor/host_probe.h"

namespace penstock::runtime {
namespace {

constexpr double kReserve = 10;  // seconds that a stop takes besides its save
constexpr std::chrono::seconds kLockLimit{30};

/// Returns the path by which the processes of a run are known, also to a later supervisor.
std::string token_for(const std::filesystem::path& output) {
  return std::filesystem::weakly_canonical(std::filesystem::absolute(output)).string();
}

/// Returns a folder in shared memory with a short name, the same for every supervisor of the run.
std::filesystem::path temporary_for(const std::string& token) {
  return fmt::format("/dev/shm/penstock-{}-{:016x}", ::geteuid(), std::hash<std::string>{}(token));
}

std::vector<std::string> host_names(const std::vector<PoolHost>& hosts) {
  std::vector<std::string> names;
  for (const PoolHost& host : hosts) names.push_back(host.name);
  return names;
}

bool holds(const std::vector<PoolHost>& hosts, const std::string& name) {
  return std::ranges::any_of(hosts, [&](const PoolHost& host) { return host.name == name; });
}

/// Returns the options with an agent. srun is given a node of the allocation by its name, and a
/// step beside those that run there.
SupervisorOptions with_agent(SupervisorOptions options) {
  if (options.agent.empty())
    options.agent = options.hosts.slurm ? "srun --overlap --nodes=1 --ntasks=1 --nodelist"
                                        : "ssh -o BatchMode=yes -o ConnectTimeout=5";
  return options;
}

/// The folder for Open MPI's files of one incarnation on this machine: its session and the memory
/// that ranks share. A job that was killed would leave them.
class TemporaryFiles {
 public:
  /// The file `run` in the folder names the run to which it belongs.
  TemporaryFiles(std::filesystem::path folder, const std::string& token)
      : folder_(std::move(folder)) {
    remove();
    std::filesystem::create_directories(folder_);
    (void)atomic_write(folder_ / "run", token + "\n");
  }
  TemporaryFiles(const TemporaryFiles&) = delete;
  TemporaryFiles& operator=(const TemporaryFiles&) = delete;
  ~TemporaryFiles() { remove(); }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::filesystem::path folder_;
};

}  // namespace

Supervisor::Supervisor(SupervisorOptions options)
    : options_(with_agent(std::move(options))),
      output_(local_output(options_.recipe)),
      token_(token_for(output_)),
      temporary_(temporary_for(token_)),
      stops_(options_.notices),
      lock_(output_, kSupervisorLock),
      metrics_(options_.metrics),
      layouts_(options_.recipe),
      record_(options_.host_limits) {
  policy_ = std::make_unique<RestartPolicy>(options_.restarts, newest_checkpoint());
  status_.steps = options_.recipe.trainer.steps;
  metrics_.publish(prometheus_text(status_));
  if (!metrics_.url().empty())
    options_.say(fmt::format("Prometheus reads the metrics at {}", metrics_.url()));
}

Supervisor::~Supervisor() { end_processes(token_); }

/// Returns the step of the newest checkpoint by name; the last known one if the folder can't be
/// read.
std::int64_t Supervisor::newest_checkpoint() const try {
  const std::vector<StoredCheckpoint> stored = list_checkpoints(output_);
  return stored.empty() ? 0 : stored.back().step;
} catch (const Error&) {
  return status_.checkpoint;
}

// An earlier supervisor may have been killed. Its mpirun ends by itself, and what is left of its
// ranks is ended here.
int Supervisor::run() try {
  end_processes(token_);
  std::optional<int> code;
  while (!code) {
    const auto hosts = await_hosts();
    if (hosts) {
      code = conclude(run_incarnation(*hosts));
    } else {
      report({.kind = "stop", .message = "stopped while no ranks ran: nothing is lost"});
      code = exit_stopped;
    }
  }
  status_.state = "ended";
  write_status();
  return *code;
} catch (...) {
  status_.state = "ended";
  write_status();
  throw;
}

/// Returns the hosts for the best layout that is possible now, or none. Once the run has begun, a
/// list that can't be had and hosts that are too few are reasons to wait.
std::vector<PoolHost> Supervisor::hosts_now() try {
  const std::vector<PoolHost> hosts = usable_hosts(look({}));
  if (hosts.empty()) return {};
  layout_ = layouts_.choose(count_slots(hosts));
  return first_slots(hosts, layout_.ranks());
} catch (const Error& error) {
  if (status_.incarnation == 0) throw;
  if (std::exchange(fault_of_list_, error.what()) != error.what())
    report({.kind = "hosts", .message = error.what()});
  return {};
}

/// Returns hosts for at least one rank, empty for this machine; nothing if a stop was asked for.
std::optional<std::vector<PoolHost>> Supervisor::await_hosts() {
  const double begin = stops_.seconds();
  bool said = false;
  for (;;) {
    if (stops_.reason(kReserve) != StopReason::none) return std::nullopt;
    if (options_.hosts.local()) {
      layout_ = layouts_.choose(INT_MAX);
      return std::vector<PoolHost>{};
    }
    if (auto hosts = hosts_now(); !hosts.empty()) return hosts;
    if (stops_.seconds() - begin > options_.wait_s)
      throw ConfigError(
          fmt::format("no host could be used for {:.0f} s: incidents.jsonl in {} "
                      "says why; make hosts available and start again",
                      options_.wait_s, output_.string()));
    if (!std::exchange(said, true))
      report({.kind = "wait", .message = "no host can be used: waiting for one"});
    status_.state = "waiting";
    write_status();
    (void)stops_.wait(std::min(options_.discover_s, 5.0));
  }
}

/// Returns the listed hosts, and the answers of those that are not `running`. Each is asked by a
/// thread of its own. If none is running, a probe ends what is left of the run on its host.
Supervisor::HostLook Supervisor::look(const std::vector<PoolHost>& running) const {
  HostLook look{find_hosts(options_.hosts), {}};
  look.answers.resize(look.listed.size());
  // A host may be this machine by another name, or have been listed twice: no process is ended
  // while ranks run.
  const HostProbe probe{options_.agent, options_.program, options_.version,
                        running.empty() ? token_ : ""};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < look.listed.size(); ++i)
    if (!holds(running, look.listed[i].name))
      threads.emplace_back([&, i] { look.answers[i] = probe_host(probe, look.listed[i].name); });
  for (std::thread& thread : threads) thread.join();
  return look;
}

/// Returns the hosts that can take part and are not excluded. Reports a fault when it is new.
std::vector<PoolHost> Supervisor::usable_hosts(const HostLook& look) {
  std::vector<PoolHost> usable;
  for (std::size_t i = 0; i < look.listed.size(); ++i) {
    const std::string& host = look.listed[i].name;
    const HostAnswer& answer = look.answers[i];
    if (!answer.machine.empty()) listed_names_[answer.machine] = host;
    if (answer.fault.empty() && !record_.excluded(host, Clock::now()))
      usable.push_back(look.listed[i]);
    std::string& said = faults_[host];
    if (!answer.fault.empty() && said != answer.fault)
      report({.kind = "host", .host = host, .message = fmt::format("{} {}", host, answer.fault)});
    said = answer.fault;
  }
  return usable;
}

/// Waits until no rank of an earlier incarnation holds the folder's lock.
void Supervisor::await_free_output() {
  const auto end = Clock::now() + kLockLimit;
  while (OutputLock::is_held(output_) && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// The layout of the recipe needs no overrides but for a plan file's, which names ranks. A run that
// begins on fewer ranks gets the lanes that it would have had on all, so that its bits are the
// same. With trainer.scaling, too, a run begins with the recipe's step, by which later ones are
// measured.
MpiJobSpec Supervisor::job_spec(const std::vector<PoolHost>& hosts) const {
  MpiJobSpec spec{.mpirun = options_.mpirun,
                  .mpi_options = options_.mpi_options,
                  .words = {options_.program, "train"},
                  .ranks = layout_.ranks(),
                  .hosts = hosts,
                  .incarnation = status_.incarnation,
                  .token = token_,
                  .temporary = temporary_};
  if (!hosts.empty())
    spec.mpi_options.insert(spec.mpi_options.begin(), {"--mca", "plm_rsh_agent", options_.agent});
  spec.words.insert(spec.words.end(), options_.words.begin(), options_.words.end());
  spec.words.emplace_back("trainer.resume=true");
  const configs::Config& recipe = options_.recipe;
  if (layout_.step_s == 0) return spec;  // the recipe's own
  configs::Config whole = with_plan_file(recipe);
  std::vector<std::string> overrides = {fmt::format("pipeline.stages={}", layout_.stages),
                                        fmt::format("pipeline.replicas={}", layout_.replicas)};
  if (newest_checkpoint() == 0) {
    overrides.push_back(fmt::format("trainer.lanes={}", whole.trainer.lanes > 0
                                                            ? whole.trainer.lanes
                                                            : whole.pipeline.replicas));
  } else if (layout_.lanes > 0) {
    whole.data.micro_batches = layout_.micro_batches;
    overrides.push_back(fmt::format("trainer.lanes={}", layout_.lanes));
    overrides.push_back(fmt::format("data.micro_batches={}", layout_.micro_batches));
  }
  if (!recipe.pipeline.plan.empty()) {
    overrides.emplace_back("pipeline.plan=");
    overrides.push_back(fmt::format("data.micro_batches={}", whole.data.micro_batches));
    overrides.push_back(fmt::format("data.micro_batch_seconds={}", whole.data.micro_batch_seconds));
    if (!whole.trainer.order.empty())
      overrides.push_back(
          fmt::format("trainer.order={}", configs::value_text(&whole.trainer.order)));
  }
  spec.words.insert(spec.words.end(), overrides.begin(), overrides.end());
  return spec;
}

WatchedJobEnd Supervisor::run_incarnation(const std::vector<PoolHost>& hosts) {
  if (looking_.valid()) looking_.wait();
  looking_ = {};
  await_free_output();
  hosts_ = hosts;
  resize_ = false;
  try {
    status_.incarnation = begin_incarnation(output_);
  } catch (const Error& error) {  // a full disk, for example: it is tried again
    return {.end = {.kind = JobEndKind::failed, .code = exit_checkpoint, .message = error.what()}};
  }
  status_.state = "starting";
  status_.stages = layout_.stages;
  status_.replicas = layout_.replicas;
  status_.hosts = hosts.empty() ? std::vector<std::string>{machine_name()} : host_names(hosts);
  status_.checkpoint = newest_checkpoint();
  report({.kind = "start",
          .message = fmt::format(
              "{} × {} on {}{}", counted(layout_.stages, "stage"),
              counted(layout_.replicas, "replica"), fmt::join(status_.hosts, ", "),
              status_.checkpoint == 0 ? std::string(", from the beginning")
                                      : fmt::format(", from step {}", status_.checkpoint))});
  const TemporaryFiles files(temporary_, token_);
  WatchedJobEnd ended =
      run_watched({.job = job_spec(hosts),
                   .limits = options_.watch,
                   .stop_s = options_.stop_s,
                   .signals = stops_.descriptor(),
                   .stacks = output_ / fmt::format("hang-{}.txt", status_.incarnation),
                   .wishes = [this](const RankWatch& watch, double s) { return wishes(watch, s); },
                   .report = [this](Incident incident) { report(std::move(incident)); }});
  trained_s_ += ended.trained_s;
  status_.trained_s = trained_s_;
  status_.ranks.clear();
  return ended;
}

/// Called some ten times a second while ranks run.
JobWishes Supervisor::wishes(const RankWatch& watch, double trained_s) {
  const auto now = Clock::now();
  status_.step = std::max(status_.step, watch.step());
  for (const RankActivity& rank : watch.activities())
    if (rank.steps > 0) status_.steps = rank.steps;  // trainer.scaling may have moved the end
  double stop_s = 0;
  for (const RankActivity& rank : watch.activities())
    stop_s = std::max(stop_s, 2 * (rank.save_s + rank.step_s));
  const StopReason reason = stops_.reason(kReserve + stop_s);
  look_for_hosts(watch);
  if (now - wrote_ > std::chrono::seconds(1)) {
    wrote_ = now;
    status_.state = reason != StopReason::none ? "stopping"
                    : watch.running()          ? "running"
                                               : "starting";
    status_.ranks = watch.activities();
    status_.trained_s = trained_s_ + trained_s;
    write_status();
  }
  return {.stop = resize_ || reason != StopReason::none, .abort = stops_.impatient()};
}

/// Looks for hosts from time to time, in a thread, since they may take seconds to answer. Asks for
/// another incarnation if a host of this one is no longer listed with as many slots, or if the
/// hosts allow more ranks than this one has.
void Supervisor::look_for_hosts(const RankWatch& watch) try {
  if (options_.hosts.local() || resize_ || !watch.running()) return;
  if (!looking_.valid()) {
    if (Clock::now() - looked_ < std::chrono::duration<double>(options_.discover_s)) return;
    looking_ = std::async(std::launch::async, [this, hosts = hosts_] { return look(hosts); });
  }
  if (looking_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  looked_ = Clock::now();
  const HostLook found = looking_.get();
  const auto gone = std::ranges::find_if(hosts_, [&](const PoolHost& host) {
    return std::ranges::none_of(found.listed, [&](const PoolHost& h) {
      return h.name == host.name && h.slots >= host.slots;
    });
  });
  const int slots = count_slots(usable_hosts(found));
  std::string why;
  if (gone != hosts_.end())
    why = fmt::format("{} no longer has {} among the hosts", gone->name,
                      counted(gone->slots, "rank"));
  else if (layouts_.choose(slots).ranks() > layout_.ranks())
    why = fmt::format("there are hosts for {} now", counted(slots, "rank"));
  if (why.empty()) return;
  resize_ = true;
  report({.kind = "resize", .message = fmt::format("{}: the ranks save and start again", why)});
} catch (const std::exception& error) {
  looked_ = Clock::now();
  if (std::exchange(fault_of_list_, error.what()) != error.what())
    report({.kind = "hosts", .message = error.what()});
}

/// Decides what follows. Returns an exit code, or nothing for another incarnation.
std::optional<int> Supervisor::conclude(const WatchedJobEnd& ended) {
  JobEnd end = ended.end;
  end.checkpoint = status_.checkpoint = newest_checkpoint();
  if (stops_.impatient()) {
    report({.kind = "stop", .message = "interrupted twice: ended without a save"});
    return exit_interrupted;
  }
  const StopReason reason = stops_.reason(0);
  if (end.kind == JobEndKind::done) {
    report({.kind = "done",
            .code = 0,
            .message = end.message.empty() ? "all steps are done" : "ended early: " + end.message});
  } else if (end.kind == JobEndKind::stopped) {
    report({.kind = "stop",
            .message = fmt::format(
                "stopped after {}; the state is saved",
                reason == StopReason::none ? "a request of the supervisor" : describe(reason))});
  } else {
    const bool hung = end.kind == JobEndKind::hung;
    status_.hangs += hung ? 1 : 0;
    report({.kind = hung ? "hang" : "failure",
            .rank = ended.rank,
            .host = ended.host,
            .code = end.code,
            .message = end.message});
    if (!options_.hosts.local() && !ended.host.empty()) count_host_failure(listed_name(ended.host));
  }
  const Decision decision = policy_->decide(end, resize_);
  if (!decision.restarts || (reason != StopReason::none && end.kind != JobEndKind::done)) {
    if (!decision.reason.empty())
      report({.kind = "end", .code = decision.code, .message = decision.reason});
    return decision.code;
  }
  status_.restarts = policy_->restarts();
  if (decision.pause_s > 0) {
    report({.kind = "pause",
            .message = fmt::format("no new checkpoint since the last start: the next start is in "
                                   "{:g} s",
                                   decision.pause_s)});
    status_.state = "pausing";
    write_status();
    (void)stops_.wait(decision.pause_s);
  }
  return std::nullopt;
}

/// Returns the name by which a host is listed. Ranks know its own name.
std::string Supervisor::listed_name(const std::string& machine) const {
  const auto listed = listed_names_.find(machine);
  return listed == listed_names_.end() ? machine : listed->second;
}

void Supervisor::count_host_failure(const std::string& host) {
  if (record_.count_failure(host, Clock::now()))
    report({.kind = "excluded",
            .host = host,
            .message = fmt::format("{} has failed {} times and is left out for {}", host,
                                   options_.host_limits.max_failures,
                                   seconds_text(options_.host_limits.excluded_s))});
}

// A full disk must not end the run, so an incident that can't be written is only said.
void Supervisor::report(Incident incident) {
  incident.incarnation = status_.incarnation;
  incident.step = status_.step;
  if (incident.kind == "straggler") {
    ++status_.stragglers;
    if (options_.restart_stragglers && !options_.hosts.local()) {
      resize_ = true;
      count_host_failure(listed_name(incident.host));
    }
  }
  options_.say(fmt::format("{}: {}", incident.kind, incident.message));
  status_.last_incident = incident.message;
  try {
    append_incident(output_, incident);
  } catch (const FileError& error) {
    options_.say(error.what());
  }
}

void Supervisor::write_status() {
  status_.up_s = stops_.seconds();
  status_.checkpoint = newest_checkpoint();
  runtime::write_status(output_, status_);
  metrics_.publish(prometheus_text(status_));
}

}  // namespace penstock::runtime
