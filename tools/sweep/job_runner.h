#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/supervisor/stop_requests.h"

namespace penstock::tools {

/// A training that is to run as a process of its own.
struct SweepJob {
  std::size_t run = 0;             // its number
  std::vector<std::string> words;  // the command
  std::filesystem::path log;       // gets its output and errors, at the end of the file
};

/// A job whose process has ended.
struct EndedJob {
  const SweepJob& job;
  int code = 0;        // 128 + the signal, if one ended it
  bool asked = false;  // to stop, before it ended
  std::string error;   // what it said last, if `code` is neither 0 nor 85
};

/// A JobObserver hears of each job, in the thread that called run_jobs().
struct JobObserver {
  std::function<void(const SweepJob&)> started;
  /// Returns false if no more jobs are to start and those that run are to stop.
  std::function<bool(const EndedJob&)> ended;
};

enum class JobsEnd {
  all,          // every job has ended
  stopped,      // on request, or because `ended` wants no more
  interrupted,  // at once, by a second Ctrl-C
};

/// Runs jobs, at most `parallel` at once, in their order. A reason to stop is passed on as SIGTERM
/// to all that run, which save and end; run_jobs() waits for them. If CUDA_VISIBLE_DEVICES lists at
/// least `parallel` devices, each place gets its share of them. Error if a job can't be started.
/// After that, or if `observer` throws, the jobs that run are stopped like on request and awaited,
/// and the first error is thrown again.
[[nodiscard]] JobsEnd run_jobs(const std::vector<SweepJob>& jobs, std::size_t parallel,
                               runtime::StopRequests& stop, const JobObserver& observer);

/// Returns the devices of a place: those from `place` × n / parallel on, of n in a list such as
/// "0,1,2,3". Returns "" if there are fewer devices than places.
[[nodiscard]] std::string devices_of_place(const std::string& visible, std::size_t place,
                                           std::size_t parallel);

/// Returns what a failed command said last about its error: its last line that begins with
/// "penstock: ", with the lines that follow it, or its last line.
[[nodiscard]] std::string last_complaint(const std::string& errors);

}  // namespace penstock::tools
