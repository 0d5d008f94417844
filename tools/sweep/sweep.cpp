#include "tools/sweep/sweep.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/checkpoint/output_lock.h"
#include "tools/cli/process_end.h"

namespace penstock::tools {
namespace {

constexpr std::int64_t kWholeTraining = 0;  // in place of a rung's steps
constexpr double kPauseSeconds = 0.1;       // between two looks at a lock

bool is_locked(const std::filesystem::path& output) {
  return runtime::OutputLock::is_held(output) ||
         runtime::OutputLock::is_held(output, runtime::kSupervisorLock);
}

}  // namespace

Sweep::Sweep(SweepPlan plan, SweepFolder folder, SweepTraining training,
             std::function<void(const std::string&)> say)
    : plan_(std::move(plan)),
      folder_(std::move(folder)),
      training_(std::move(training)),
      say_(std::move(say)) {}

SweepEnd Sweep::train(runtime::StopRequests& stop) {
  std::vector<std::size_t> runs(plan_.points.size());
  std::iota(runs.begin(), runs.end(), 1);
  if (plan_.halving.factor == 0) return train_rung(runs, kWholeTraining, stop);
  const auto rungs =
      rung_steps(plan_.halving, training_.steps.front(), static_cast<std::int64_t>(runs.size()));
  for (const std::int64_t rung : rungs) {
    say_(
        fmt::format("{} to step {}", counted(static_cast<std::int64_t>(runs.size()), "run"), rung));
    if (const SweepEnd end = train_rung(runs, rung, stop); end != SweepEnd::done) return end;
    runs = surviving(runs, rung);
    if (runs.empty()) {
      say_(fmt::format("no run has a finite {} at step {}, so none goes on",
                       metric_name(plan_.metric), rung));
      return SweepEnd::none_left;
    }
  }
  return SweepEnd::done;
}

SweepEnd Sweep::train_only(std::size_t run, runtime::StopRequests& stop) {
  return train_rung({run}, kWholeTraining, stop);
}

std::int64_t Sweep::steps_of(std::size_t run, std::int64_t rung) const {
  return rung == kWholeTraining ? training_.steps[run - 1] : rung;
}

SweepEnd Sweep::train_rung(const std::vector<std::size_t>& runs, std::int64_t rung,
                           runtime::StopRequests& stop) {
  std::vector<SweepJob> jobs;
  for (const std::size_t run : runs) {
    const RunState state = folder_.result(run, plan_.metric, steps_of(run, rung)).state;
    if (state != RunState::done && state != RunState::failed) jobs.push_back(job(run, rung));
  }
  if (!wait_for_orphans(jobs, stop)) return SweepEnd::stopped;
  const JobsEnd end = run_jobs(
      jobs, training_.parallel, stop,
      {.started =
           [&](const SweepJob& started) {
             say_(fmt::format("run {} of {}: {}", started.run, plan_.points.size(),
                              settings_text(plan_, started.run)));
           },
       .ended =
           [&](const EndedJob& ended) { return finish(ended, steps_of(ended.job.run, rung)); }});
  if (misconfigured_) return SweepEnd::misconfigured;
  if (end == JobsEnd::interrupted) return SweepEnd::interrupted;
  return stopped_ || end == JobsEnd::stopped ? SweepEnd::stopped : SweepEnd::done;
}

// After a kill -9 of the sweep, its trainings get SIGTERM and still save. A run that started
// meanwhile would find its folder locked, and count as failed. Returns false on request to stop.
bool Sweep::wait_for_orphans(const std::vector<SweepJob>& jobs, runtime::StopRequests& stop) const {
  for (const SweepJob& job : jobs) {
    const std::filesystem::path output = folder_.output(job.run);
    if (!is_locked(output)) continue;
    say_(fmt::format("run {}: waits for the end of another training in {}", job.run,
                     output.string()));
    for (double waited = 0; is_locked(output); waited += kPauseSeconds) {
      if (waited >= training_.patience_s)
        throw CheckpointError(fmt::format(
            "run {}: another training writes to {}: wait for its end, then give the command again",
            job.run, output.string()));
      if (stop.wait(kPauseSeconds)) return false;
    }
  }
  return true;
}

// trainer.output and trainer.resume come last, so that they hold whatever the other words say.
SweepJob Sweep::job(std::size_t run, std::int64_t rung) const {
  SweepJob job{.run = run, .words = training_.command, .log = folder_.log(run)};
  for (std::size_t i = 0; i < plan_.axes.size(); ++i)
    job.words.push_back(fmt::format("{}={}", plan_.axes[i].key, plan_.points[run - 1][i]));
  if (rung != kWholeTraining) job.words.push_back(fmt::format("trainer.steps={}", rung));
  job.words.push_back(fmt::format("trainer.output={}", folder_.output(run).string()));
  job.words.emplace_back("trainer.resume=true");
  return job;
}

// A run that a stop ended, by its save or before its first step, has nothing to be recorded.
bool Sweep::finish(const EndedJob& ended, std::int64_t steps) {
  const std::size_t run = ended.job.run;
  if (ended.code == exit_stopped || (ended.asked && ended.code > 128)) {
    stopped_ = true;
    say_(fmt::format("run {}: stopped", run));
    return true;
  }
  if (ended.code == exit_usage) {
    misconfigured_ = true;
    say_(fmt::format("run {} can't begin: {}", run, ended.error));
    return false;
  }
  folder_.record(run, {ended.code, steps, ended.error});
  if (ended.code == exit_done)
    say_(fmt::format("run {}: {}", run,
                     result_text(plan_, folder_.result(run, plan_.metric, steps))));
  else
    say_(fmt::format("run {} failed, exit code {}: {}\n  the others go on; its log is {}", run,
                     ended.code, ended.error, ended.job.log.string()));
  return true;
}

std::vector<std::size_t> Sweep::surviving(const std::vector<std::size_t>& runs,
                                          std::int64_t rung) const {
  std::vector<std::optional<double>> metrics;
  for (const std::size_t run : runs) {
    const RunResult result = folder_.result(run, plan_.metric, rung);
    metrics.push_back(result.state == RunState::failed ? std::nullopt : result.best);
  }
  std::vector<std::size_t> kept;
  for (const std::size_t i : survivors(metrics, plan_.halving.factor)) kept.push_back(runs[i]);
  return kept;
}

SweepOutcome Sweep::outcome() const {
  SweepOutcome outcome{.folder = folder_.path().string(), .plan = plan_};
  for (std::size_t run = 1; run <= plan_.points.size(); ++run)
    outcome.runs.push_back({.number = run,
                            .output = folder_.output(run).string(),
                            .result = folder_.result(run, plan_.metric, training_.steps[run - 1])});
  return outcome;
}

}  // namespace penstock::tools
