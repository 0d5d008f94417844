#include "tools/sweep/job_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
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
    return EndedJob{job_, *code, asked_, fine ? "" : last_complaint(errors_)};
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

/// The places in which jobs run, one each.
class JobPlaces {
 public:
  JobPlaces(const std::vector<SweepJob>& jobs, std::size_t parallel, runtime::StopRequests& stop,
            const JobObserver& observer)
      : jobs_(jobs), stop_(stop), observer_(observer), places_(parallel) {}

  JobsEnd run() {
    while (running_ > 0 || (!stopping_ && next_ < jobs_.size())) {
      stopping_ = stopping_ || asked_to_stop();
      for (std::size_t place = 0; place < places_.size(); ++place) visit_safely(place);
      if (stop_.impatient()) return JobsEnd::interrupted;
      // wait() returns at once after a request.
      if (running_ > 0 && !stop_.wait(kPollSeconds)) continue;
      if (running_ > 0) std::this_thread::sleep_for(std::chrono::duration<double>(kPollSeconds));
    }
    if (failure_) std::rethrow_exception(failure_);
    return stopping_ ? JobsEnd::stopped : JobsEnd::all;
  }

 private:
  bool asked_to_stop() { return stop_.reason(0) != runtime::StopReason::none; }

  /// Keeps the first error, so that jobs in other places end by a save and not by a kill.
  void visit_safely(std::size_t place) try { visit(place); } catch (...) {
    if (!failure_) failure_ = std::current_exception();
    stopping_ = true;
  }

  void visit(std::size_t place) {
    std::unique_ptr<RunningJob>& job = places_[place];
    if (!job && !stopping_ && next_ < jobs_.size()) {
      job = start(jobs_[next_], place, places_.size());
      ++running_;
      observer_.started(jobs_[next_++]);
    }
    if (!job) return;
    if (stopping_) job->stop();
    auto ended = job->end();
    if (!ended) return;
    // A batch system may have sent its signal to all processes.
    ended->asked = ended->asked || asked_to_stop();
    job.reset();
    --running_;
    stopping_ = !observer_.ended(*ended) || stopping_;
  }

  const std::vector<SweepJob>& jobs_;
  runtime::StopRequests& stop_;
  const JobObserver& observer_;
  std::vector<std::unique_ptr<RunningJob>> places_;
  std::size_t next_ = 0, running_ = 0;
  bool stopping_ = false;
  std::exception_ptr failure_;
};

}  // namespace

JobsEnd run_jobs(const std::vector<SweepJob>& jobs, std::size_t parallel,
                 runtime::StopRequests& stop, const JobObserver& observer) {
  return JobPlaces(jobs, parallel, stop, observer).run();
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
