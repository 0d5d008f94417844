#include "runtime/job/activity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <stdexcept>

namespace penstock::runtime {
namespace {

constexpr std::array<std::string_view, 5> kPhases = {"start", "step", "save", "validation", "end"};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string host_name() {
  char host[HOST_NAME_MAX + 1] = {};
  ::gethostname(host, HOST_NAME_MAX);
  return host;
}

}  // namespace

std::string_view name_of(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

Phase phase_of(std::string_view name) {
  for (std::size_t i = 0; i < kPhases.size(); ++i)
    if (kPhases[i] == name) return static_cast<Phase>(i);
  throw std::invalid_argument(fmt::format("no phase is called {}", name));
}

std::string describe(const RankActivity& a) {
  std::string text = a.stage < 0 ? "" : fmt::format("stage {}, ", a.stage);
  text += a.action.empty() ? fmt::format("{}", name_of(a.phase)) : a.action;
  if (a.waits_for >= 0) text += fmt::format(", waiting for rank {}", a.waits_for);
  return text;
}

Activity::Activity() : last_event_(Clock::now()), phase_began_(last_event_) {
  known_.host = host_name();
  known_.process = ::getpid();
}

void Activity::note_event() {
  ++known_.events;
  last_event_ = Clock::now();
}

void Activity::place(int rank, int stage, int replica) {
  const std::lock_guard lock(mutex_);
  known_.rank = rank;
  known_.stage = stage;
  known_.replica = replica;
  note_event();
}

void Activity::enter(Phase phase, std::int64_t step, std::int64_t steps) {
  const std::lock_guard lock(mutex_);
  if (known_.phase == Phase::save && phase != Phase::save)
    known_.save_s = seconds_since(phase_began_);
  if (known_.phase != phase) phase_began_ = Clock::now();
  if (phase == Phase::step) step_began_ = Clock::now();
  known_.phase = phase;
  known_.step = step;
  known_.steps = steps;
  action_ = {};
  known_.waits_for = -1;
  note_event();
}

void Activity::begin(std::string_view action, int micro_batch, int chunk, double planned_s) {
  const std::lock_guard lock(mutex_);
  action_ = action;
  micro_batch_ = micro_batch;
  chunk_ = chunk;
  known_.planned_s = planned_s;
  waited_s_ = 0;
  note_event();
  began_ = last_event_;
}

void Activity::end_action() {
  const std::lock_guard lock(mutex_);
  note_event();
  if (known_.planned_s > 0) {
    busy_s_ += std::chrono::duration<double>(last_event_ - began_).count() - waited_s_;
    planned_busy_s_ += known_.planned_s;
  }
  action_ = {};
  known_.planned_s = 0;
}

void Activity::wait_for(int rank) {
  const std::lock_guard lock(mutex_);
  known_.waits_for = rank;
  waiting_since_ = Clock::now();
}

void Activity::go_on() {
  const std::lock_guard lock(mutex_);
  known_.waits_for = -1;
  waited_s_ += seconds_since(waiting_since_);
  note_event();
}

void Activity::advance() {
  const std::lock_guard lock(mutex_);
  note_event();
}

void Activity::end_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  known_.step = step;
  known_.step_s = seconds_since(step_began_);
  known_.busy_s = busy_s_;
  known_.planned_busy_s = planned_busy_s_;
  busy_s_ = planned_busy_s_ = 0;
  note_event();
}

RankActivity Activity::now() const {
  const std::lock_guard lock(mutex_);
  RankActivity now = known_;
  now.seconds = seconds_since(last_event_);
  if (action_.empty()) return now;
  const bool of_chunk = chunk_ >= 0;
  now.action = of_chunk
                   ? fmt::format("{} of micro-batch {} on chunk {}", action_, micro_batch_, chunk_)
                   : std::string(action_);
  return now;
}

}  // namespace penstock::runtime
