#include "runtime/supervisor/watched_job.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iostream>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "runtime/devices/rank_info.h"
#include "runtime/job/exit_code.h"

namespace penstock::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 100;
constexpr std::chrono::seconds kGap{3};      // a longer pause of this process is forgiven
constexpr std::chrono::seconds kStacks{30};  // limit for the debugger

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

/// Returns the last line that is not empty and no frame of Open MPI's messages.
std::string last_line(const std::string& errors) {
  std::size_t end = errors.size();
  while (end > 0) {
    const std::size_t begin = errors.rfind('\n', end - 1);
    const std::size_t first = begin == std::string::npos ? 0 : begin + 1;
    std::string line = errors.substr(first, end - first);
    if (line.find_first_not_of("- \r\n") != std::string::npos) return line;
    if (first == 0) break;
    end = first - 1;
  }
  return "";
}

/// One incarnation while it runs.
class Watching {
 public:
  explicit Watching(const WatchedJobOptions& options)
      : options_(options),
        watch_(options.limits, options.job.ranks, Clock::now()),
        job_(options.job, output()) {}

  WatchedJobEnd run() {
    std::optional<int> code;
    auto last = Clock::now();
    for (; !code; code = job_.ended()) {
      std::array<pollfd, 3> polled = {pollfd{options_.signals, POLLIN, 0},
                                      pollfd{job_.output(), POLLIN, 0},
                                      pollfd{job_.errors(), POLLIN, 0}};
      // The descriptors of a job that is ending are readable all the time.
      ::poll(polled.data(), stop_asked_ ? 0 : polled.size(), kPollMs);
      const auto now = Clock::now();
      if (now - last > kGap) watch_.forgive(now - last);
      job_.read();
      if (trains()) trained_s_ += seconds(now - counted_);
      counted_ = now;
      if (act(now)) break;
      last = Clock::now();
    }
    end_processes(options_.job.token);
    return conclude(code);
  }

 private:
  JobOutput output() {
    return {.activity = [this](const RankActivity& a) { watch_.hear(a, Clock::now()); },
            .end = [this](const RankEnd& end) { ends_.push_back(end); },
            .output = [](const std::string& line) { std::cout << line << '\n'
                                                              << std::flush; },
            .errors = [](const std::string& text) { std::cerr << text << std::flush; }};
  }

  bool trains() const {
    const std::vector<RankActivity> ranks = watch_.activities();
    return watch_.running() && ranks.front().phase == Phase::step;
  }

  /// Looks for reasons to act. Returns true if the job was ended by force.
  bool act(Clock::time_point now) {
    if (const auto straggler = watch_.take_straggler())
      options_.report({.kind = "straggler",
                       .step = watch_.step(),
                       .rank = straggler->rank.rank,
                       .host = straggler->rank.host,
                       .message = describe(*straggler)});
    const bool all_ended = static_cast<int>(ends_.size()) == options_.job.ranks;
    if (!all_ended) ended_ = now;
    const auto hang = all_ended ? std::nullopt : watch_.find_hang(now);
    if (hang) {
      hang_ = hang;
      take_stacks();
    }
    const bool lingers = seconds(now - ended_) > options_.limits.end_s;  // mpirun alone is left
    if (!hang && !lingers) return heed(options_.wishes(watch_, trained_s_), now);
    job_.end_by_force();
    return true;
  }

  bool heed(const JobWishes& wishes, Clock::time_point now) {
    if (wishes.stop && !stop_asked_) {
      stop_asked_ = now;
      if (watch_.running()) job_.ask_to_stop();
    }
    const bool late = stop_asked_ && seconds(now - *stop_asked_) > options_.stop_s;
    ended_early_ = stop_asked_ && ends_.empty() && !watch_.running();
    if (!wishes.abort && !late && !ended_early_) return false;
    late_ = late;
    job_.end_by_force();
    return true;
  }

  /// Writes the stacks of all threads of the culprit, if it runs here and there is a debugger.
  void take_stacks() {
    const RankActivity& culprit = hang_->culprit;
    if (options_.stacks.empty() || culprit.process == 0 || culprit.host != machine_name()) return;
    try {
      const CommandOutput found =
          run_command({{"gdb", "-nx", "-batch", "-p", fmt::format("{}", culprit.process), "-ex",
                        "thread apply all backtrace 24"}},
                      kStacks);
      if (found.output.find("Thread") == std::string::npos) return;
      stacks_ = atomic_write(options_.stacks, found.output);
    } catch (const Error&) {  // there is no gdb
    }
  }

  WatchedJobEnd conclude(std::optional<int> code) {
    WatchedJobEnd result{.end = {}, .trained_s = trained_s_};
    result.end.code = code.value_or(1);
    const auto failed = std::ranges::find_if(ends_, [](const RankEnd& end) {
      return end.code != exit_done && end.code != exit_stopped;
    });
    if (all_done()) {
      result.end.kind = JobEndKind::done;
      result.end.message = ends_.front().message;  // all ranks end for the same reason
    } else if (ended_early_ || (stop_asked_ && saved_and_stopped())) {
      result.end.kind = JobEndKind::stopped;
    } else if (hang_) {
      conclude_hang(result);
    } else if (failed != ends_.end()) {
      result.end.code = failed->code;
      result.end.diverged = failed->diverged;
      result.end.message = failed->message;
      result.rank = failed->rank;
    } else if (late_) {
      result.end.message = fmt::format(
          "the ranks did not save within {:.0f} s of a request to stop", options_.stop_s);
    } else if (code == 0) {
      result.end.kind = JobEndKind::done;
    } else {
      conclude_death(result);
    }
    if (result.rank >= 0 && result.host.empty()) result.host = find_host(result.rank);
    return result;
  }

  void conclude_hang(WatchedJobEnd& result) const {
    result.end.kind = JobEndKind::hung;
    result.end.code = exit_hung;
    result.rank = hang_->culprit.rank;
    result.end.message = describe(*hang_);
    result.end.message +=
        stacks_ ? fmt::format("\nThe stacks of its threads are in {}", options_.stacks)
                : "\nThe stacks of its threads are written if it is on this machine and gdb is "
                  "installed";
  }

  void conclude_death(WatchedJobEnd& result) const {
    // No rank has reported an error, so a code of usage or of data is mpirun's own.
    if (result.end.code == exit_usage || result.end.code == exit_data) result.end.code = exit_other;
    const std::string& errors = job_.last_errors();
    if (const auto lost = find_lost_host(errors)) {
      result.host = *lost;
      result.end.message = fmt::format("mpirun lost its connection to {}", *lost);
    } else if (const auto killed = find_killed_rank(errors)) {
      result.rank = killed->rank;
      result.host = killed->host;
      result.end.message = fmt::format("rank {} on {} was killed by signal {}", killed->rank,
                                       killed->host, killed->signal);
    } else if (result.end.code > 128 && result.end.code < 128 + NSIG) {
      result.end.message = fmt::format("mpirun was killed by signal {}", result.end.code - 128);
    } else {
      result.end.message =
          fmt::format("mpirun ended with exit code {}: {}", result.end.code, last_line(errors));
    }
  }

  /// Returns true if rank 0 has said that the run was saved and stopped.
  bool saved_and_stopped() const {
    return std::ranges::any_of(
        ends_, [](const RankEnd& end) { return end.rank == 0 && end.code == exit_stopped; });
  }

  bool all_done() const {
    return static_cast<int>(ends_.size()) == options_.job.ranks &&
           std::ranges::all_of(ends_, [](const RankEnd& end) { return end.code == 0; });
  }

  std::string find_host(int rank) const {
    for (const RankActivity& activity : watch_.activities())
      if (activity.rank == rank) return activity.host;
    return "";
  }

  const WatchedJobOptions& options_;
  RankWatch watch_;
  std::vector<RankEnd> ends_;
  std::optional<Hang> hang_;
  std::optional<Clock::time_point> stop_asked_;
  Clock::time_point counted_ = Clock::now(), ended_ = counted_;
  bool ended_early_ = false, late_ = false, stacks_ = false;
  double trained_s_ = 0;
  MpiJob job_;  // last: its output goes to the others
};

}  // namespace

WatchedJobEnd run_watched(const WatchedJobOptions& options) { return Watching(options).run(); }

}  // namespace penstock::runtime
