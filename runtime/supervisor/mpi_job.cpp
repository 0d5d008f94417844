#include "runtime/supervisor/mpi_job.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <regex>
#include <thread>
#include <utility>

#include "base/file_handle.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kKeptErrors = 8192;
constexpr std::chrono::seconds kTermination{4};  // mpirun ends its ranks within 2 s of SIGTERM

std::string host_list(const std::vector<PoolHost>& hosts) {
  std::string list;
  for (const PoolHost& host : hosts)
    list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, host.slots);
  return list;
}

/// Returns the processes, except this one, whose environment has this entry.
std::vector<pid_t> processes_with(const std::string& entry) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = folder.path().filename().string();
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error != std::errc() || end != name.data() + name.size() || process == ::getpid()) continue;
    try {
      const std::string environment = '\0' + read_file(folder.path() / "environ");
      if (environment.find('\0' + entry + '\0') != std::string::npos) found.push_back(process);
    } catch (const FileError&) {  // it has ended, or belongs to another user
    }
  }
  return found;
}

}  // namespace

// mpirun learns within 7 s that a host is gone: TCP's default would take minutes. After a failure
// it kills the other ranks at once, since nothing of theirs is kept: its default lets them try to
// end for 2 s, which would be half of a restart. A save is safe, for ranks leave MPI_Finalize
// together. Ranks are not bound to cores, since each may have several threads. --oversubscribe lets
// a machine have more ranks than Open MPI counts cores.
Command mpi_command(const MpiJobSpec& spec) {
  std::vector<std::string> words = {spec.mpirun,       "-np",       fmt::format("{}", spec.ranks),
                                    "--oversubscribe", "--bind-to", "none"};
  const auto add_parameter = [&words](const std::string& name, const std::string& value) {
    words.insert(words.end(), {"--mca", name, value});
  };
  if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
  add_parameter("odls_base_sigkill_timeout", "0");
  if (spec.hosts.empty()) {
    add_parameter("orte_tmpdir_base", spec.temporary.string());
    add_parameter("btl_vader_backing_directory", spec.temporary.string());
  } else {
    words.insert(words.end(), {"--host", host_list(spec.hosts), "--map-by", "slot"});
    add_parameter("oob_tcp_keepalive_time", "5");
    add_parameter("oob_tcp_keepalive_intvl", "1");
    add_parameter("oob_tcp_keepalive_probes", "3");
  }
  const std::vector<std::pair<std::string, std::string>> environment = {
      {kIncarnation, fmt::format("{}", spec.incarnation)}, {kJobToken, spec.token}};
  for (const auto& [name, value] : environment)
    words.insert(words.end(), {"-x", fmt::format("{}={}", name, value)});
  words.insert(words.end(), spec.mpi_options.begin(), spec.mpi_options.end());
  words.insert(words.end(), spec.words.begin(), spec.words.end());
  return {words, environment};
}

MpiJob::MpiJob(const MpiJobSpec& spec, JobOutput output)
    : output_to_(std::move(output)), child_(mpi_command(spec)) {}

void MpiJob::read() {
  if (output_open_) output_open_ = read_available(child_.output(), lines_);
  pass_lines(!output_open_);
  if (!errors_open_) return;
  std::string errors;
  errors_open_ = read_available(child_.errors(), errors);
  if (errors.empty()) return;
  output_to_.errors(errors);
  last_errors_ += errors;
  if (last_errors_.size() > kKeptErrors) last_errors_.erase(0, last_errors_.size() - kKeptErrors);
}

void MpiJob::pass_lines(bool closed) {
  if (closed && !lines_.empty() && lines_.back() != '\n') lines_ += '\n';
  std::size_t begin = 0;
  for (std::size_t end = lines_.find('\n'); end != std::string::npos;
       begin = end + 1, end = lines_.find('\n', begin)) {
    const std::string line = lines_.substr(begin, end - begin);
    const ParsedLine parsed = parse_heartbeat(line);
    if (parsed.activity)
      output_to_.activity(*parsed.activity);
    else if (parsed.end)
      output_to_.end(*parsed.end);
    else if (!looks_like_heartbeat(line))
      output_to_.output(line);
  }
  lines_.erase(0, begin);
}

// A process that mpirun left may hold the pipes open, so they are read once more at most.
std::optional<int> MpiJob::ended() {
  const std::optional<int> code = child_.exit_code();
  if (code) read();
  return code;
}

void MpiJob::ask_to_stop() { child_.signal(SIGUSR1); }

void MpiJob::end_by_force() {
  child_.signal(SIGTERM);
  if (!child_.wait(kTermination)) child_.signal_group(SIGKILL);
  child_.wait(kTermination);
  read();
}

std::optional<KilledRank> find_killed_rank(const std::string& errors) {
  static const std::regex report(
      R"(process rank (\d+) with PID \d+ on node (\S+)\s+exited on\s+signal (\d+))");
  std::smatch found;
  if (!std::regex_search(errors, found, report)) return {};
  return KilledRank{std::stoi(found[1]), found[2], std::stoi(found[3])};
}

std::optional<std::string> find_lost_host(const std::string& errors) {
  static const std::regex report(R"(lost communication[^]*Remote daemon:\s*\S+\s+on node\s+(\S+))");
  std::smatch found;
  if (!std::regex_search(errors, found, report)) return {};
  return found[1].str();
}

int end_processes(const std::string& token) {
  const std::string entry = fmt::format("{}={}", kJobToken, token);
  int count = 0;
  for (int tries = 0; tries < 100; ++tries) {
    const std::vector<pid_t> processes = processes_with(entry);
    if (processes.empty()) break;
    if (tries == 0) count = static_cast<int>(processes.size());
    for (const pid_t process : processes) ::kill(process, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return count;
}

}  // namespace penstock::runtime
