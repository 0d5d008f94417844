#include "tools/sweep/job_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "base/file_handle.h"
#include "runtime/supervisor/child_process.h"
#include "tools/cli/process_end.h"

namespace penstock::tools {
namespace {

constexpr double kPollSeconds = 0.05;
constexpr std::size_t kMostErrors = 16384;      // bytes of a job's errors that are kept
constexpr std::size_t kLongestComplaint = 600;  // bytes

std::vector<std::string> divided_list(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    items.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

/// A job whose process runs.
class RunningJob {
 public:
  RunningJob(const SweepJob& job, const runtime::Command& command)
      : job_(job), log_(job.log, O_WRONLY | O_CREAT | O_APPEND), process_(command) {}

  /// Passes on what the process has written.
  void read() {
    std::string output, errors;
    runtime::read_available(process_.output(), output);
    runtime::read_available(process_.errors(), errors);
    errors_ += errors;
    if (errors_.size() > kMostErrors) errors_.erase(0, errors_.size() - kMostErrors);
    const std::string text = output + errors;
    // A log that can't be written costs no training.
    (void)!::write(log_.descriptor(), text.data(), text.size());
  }

  void stop() {
    if (!asked_) process_.signal(SIGTERM);
    asked_ = true;
  }

  std::optional<EndedJob> end() {
    read();
    const std::optional<int> code = process_.exit_code();
    if (!code) return std::nullopt;
    read();
    const bool fine = *code == exit_done || *code == exit_stopped;
    return EndedJob{job_, *code, fine ? "" : last_complaint(errors_)};
  }

 private:
  const SweepJob& job_;
  FileHandle log_;
  runtime::ChildProcess process_;
  std::string errors_;
  bool asked_ = false;
};

/// Starts a job in a place.
std::unique_ptr<RunningJob> start(const SweepJob& job, std::size_t place, std::size_t parallel) {
  runtime::Command command{job.words};
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (const std::string devices =
          devices_of_place(visible == nullptr ? "" : visible, place, parallel);
      !devices.empty())
    command.environment.emplace_back("CUDA_VISIBLE_DEVICES", devices);
  return std::make_unique<RunningJob>(job, command);
}

}  // namespace

JobsEnd run_jobs(const std::vector<SweepJob>& jobs, std::size_t parallel,
                 runtime::StopRequests& stop, const JobObserver& observer) {
  std::vector<std::unique_ptr<RunningJob>> places(parallel);
  std::size_t next = 0, running = 0;
  bool stopping = false;
  while (running > 0 || (!stopping && next < jobs.size())) {
    stopping = stopping || stop.reason(0) != runtime::StopReason::none;
    for (std::size_t place = 0; place < parallel; ++place) {
      std::unique_ptr<RunningJob>& job = places[place];
      if (!job && !stopping && next < jobs.size()) {
        job = start(jobs[next], place, parallel);
        ++running;
        observer.started(jobs[next++]);
      }
      if (!job) continue;
      if (stopping) job->stop();
      if (const auto ended = job->end()) {
        job.reset();
        --running;
        stopping = !observer.ended(*ended) || stopping;
      }
    }
    if (stop.impatient()) return JobsEnd::interrupted;
    // wait() returns at once after a request.
    if (running > 0 && !stop.wait(kPollSeconds)) continue;
    if (running > 0) std::this_thread::sleep_for(std::chrono::duration<double>(kPollSeconds));
  }
  return stopping ? JobsEnd::stopped : JobsEnd::all;
}

std::string devices_of_place(const std::string& visible, std::size_t place, std::size_t parallel) {
  const std::vector<std::string> devices = divided_list(visible);
  if (parallel < 2 || devices.size() < parallel) return "";
  const std::size_t begin = place * devices.size() / parallel;
  const std::size_t end = (place + 1) * devices.size() / parallel;
  return fmt::format("{}", fmt::join(devices.begin() + static_cast<std::ptrdiff_t>(begin),
                                     devices.begin() + static_cast<std::ptrdiff_t>(end), ","));
}

std::string last_complaint(const std::string& errors) {
  std::string text = errors.substr(0, errors.find_last_not_of(" \r\n") + 1);
  const std::string begins = "penstock: ";
  std::size_t at = text.rfind("\n" + begins);
  if (at != std::string::npos) {
    text.erase(0, at + 1 + begins.size());
  } else if (text.starts_with(begins)) {
    text.erase(0, begins.size());
  } else {
    at = text.find_last_of("\r\n");
    if (at != std::string::npos) text.erase(0, at + 1);
  }
  // mpirun and a supervisor add lines of their own after it.
  for (const char* other : {"\n---", "\npenstock run: "})
    text.resize(std::min(text.find(other), text.size()));
  if (text.size() > kLongestComplaint) text = text.substr(0, kLongestComplaint) + "…";
  return text;
}

}  // namespace penstock::tools
