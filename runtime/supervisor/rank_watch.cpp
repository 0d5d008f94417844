#include "runtime/supervisor/rank_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace penstock::runtime {
namespace {

double seconds_between(RankWatch::Time from, RankWatch::Time to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Returns how much longer than planned the rank computed in its last step; 0 if that is unknown.
double slowness(const RankActivity& a) {
  return a.planned_busy_s > 0 ? a.busy_s / a.planned_busy_s : 0;
}

/// Returns true if the rank works by itself, so that others can't be what it waits for. Between
/// actions, and in the action `step`, ranks add gradients and agree on the norm.
bool computes(const RankActivity& a) {
  if (a.waits_for >= 0) return false;
  return a.phase != Phase::step || !(a.action.empty() || a.action == "step");
}

}  // namespace

RankWatch::RankWatch(const WatchLimits& limits, int ranks, Time begin)
    : limits_(limits), ranks_(static_cast<std::size_t>(ranks)) {
  for (Rank& rank : ranks_) rank.heard = rank.progressed = begin;
}

void RankWatch::hear(const RankActivity& activity, Time now) {
  if (activity.rank < 0 || activity.rank >= static_cast<int>(ranks_.size())) return;
  Rank& rank = ranks_[static_cast<std::size_t>(activity.rank)];
  const bool progressed = !rank.last || activity.events != rank.last->events;
  const bool stepped = rank.last && activity.step > rank.last->step;
  rank.heard = now;
  if (progressed) rank.progressed = now;
  rank.last = activity;
  if (stepped) count_slow_step(activity.rank);
}

void RankWatch::forgive(std::chrono::steady_clock::duration gap) {
  for (Rank& rank : ranks_) {
    rank.heard += gap;
    rank.progressed += gap;
  }
}

double RankWatch::allowed_seconds(const RankActivity& a) const {
  switch (a.phase) {
    case Phase::start:
      return limits_.start_s;
    case Phase::save:
      return limits_.save_s;
    case Phase::validation:
      return limits_.validation_s;
    case Phase::end:
      return limits_.end_s;
    case Phase::step:
      break;
  }
  if (a.step_s == 0) return std::max(limits_.action_s, limits_.first_step_s);
  const double planned =
      computes(a) ? a.planned_s * std::max(1.0, slowness(a)) : std::max(a.planned_s, a.step_s);
  return std::max(limits_.action_s, limits_.action_factor * planned);
}

bool RankWatch::silent(const Rank& rank, Time now) const {
  return rank.last && seconds_between(rank.heard, now) > limits_.silence_s;
}

// A job whose processes have not all spoken is still starting. The limit of a rank that waits does
// not count: it waits for one whose limit does.
std::optional<Hang> RankWatch::find_hang(Time now) const {
  Time progressed = ranks_.front().progressed;
  double limit = limits_.action_s;
  for (const Rank& rank : ranks_) {
    progressed = std::max(progressed, rank.progressed);
    if (!rank.last)
      limit = std::max(limit, limits_.start_s);
    else if (!silent(rank, now) && rank.last->waits_for < 0)
      limit = std::max(limit, allowed_seconds(*rank.last));
  }
  const double seconds = seconds_between(progressed, now);
  if (seconds <= limit) return {};
  const Rank* found = culprit(now);
  Hang hang{.culprit = {}, .seconds = seconds, .limit = limit};
  if (found != nullptr && found->last) {
    hang.culprit = *found->last;
    hang.silent = silent(*found, now);
  } else {
    const Rank* first = found == nullptr ? &ranks_.front() : found;
    hang.culprit.rank = static_cast<int>(first - ranks_.data());
    hang.silent = true;
  }
  return hang;
}

// The culprit is a rank that was never heard, else one that is silent, else one that computes, else
// the one for which another waits. Among several it is the one without progress for longest.
const RankWatch::Rank* RankWatch::culprit(Time now) const {
  const auto oldest = [this](const auto& fits) {
    const Rank* found = nullptr;
    for (const Rank& rank : ranks_)
      if (fits(rank) && (found == nullptr || rank.progressed < found->progressed)) found = &rank;
    return found;
  };
  if (const Rank* rank = oldest([](const Rank& r) { return !r.last; })) return rank;
  if (const Rank* rank = oldest([&](const Rank& r) { return silent(r, now); })) return rank;
  if (const Rank* rank = oldest([](const Rank& r) { return computes(*r.last); })) return rank;
  for (const Rank& rank : ranks_)
    if (const int peer = rank.last->waits_for;
        peer >= 0 && peer < static_cast<int>(ranks_.size()) &&
        ranks_[static_cast<std::size_t>(peer)].last->waits_for < 0)
      return &ranks_[static_cast<std::size_t>(peer)];
  return oldest([](const Rank&) { return true; });
}

double RankWatch::median_slowness_of_others(int rank) const {
  std::vector<double> others;
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (static_cast<int>(r) != rank && ranks_[r].last && slowness(*ranks_[r].last) > 0)
      others.push_back(slowness(*ranks_[r].last));
  if (others.empty()) return 0;
  std::ranges::nth_element(others, others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2));
  return others[others.size() / 2];
}

void RankWatch::count_slow_step(int number) {
  Rank& rank = ranks_[static_cast<std::size_t>(number)];
  const double own = slowness(*rank.last), median = median_slowness_of_others(number);
  const double excess_s = rank.last->busy_s - median * rank.last->planned_busy_s;
  if (median == 0 || own <= limits_.straggler_factor * median ||
      excess_s < limits_.straggler_min_s) {
    rank.slow_steps = 0;
    rank.reported = false;
    return;
  }
  if (++rank.slow_steps < limits_.straggler_steps || rank.reported) return;
  rank.reported = true;
  straggler_ = Straggler{*rank.last, own / median};
}

std::optional<Straggler> RankWatch::take_straggler() {
  return std::exchange(straggler_, std::nullopt);
}

bool RankWatch::running() const {
  return std::ranges::all_of(
      ranks_, [](const Rank& rank) { return rank.last && rank.last->phase != Phase::start; });
}

std::vector<RankActivity> RankWatch::activities() const {
  std::vector<RankActivity> all;
  for (const Rank& rank : ranks_)
    if (rank.last) all.push_back(*rank.last);
  return all;
}

std::int64_t RankWatch::step() const {
  std::int64_t step = 0;
  for (const Rank& rank : ranks_)
    if (rank.last) step = std::max(step, rank.last->step);
  return step;
}

std::string describe(const Hang& hang) {
  const RankActivity& c = hang.culprit;
  const std::string host = c.host.empty() ? "" : fmt::format(" on {}", c.host);
  return fmt::format("no rank made progress for {:.0f} s (limit {:.0f} s): rank {}{} {} {}",
                     hang.seconds, hang.limit, c.rank, host,
                     hang.silent ? "is silent, last seen in" : "is in", describe(c));
}

std::string describe(const Straggler& straggler) {
  const RankActivity& r = straggler.rank;
  return fmt::format(
      "rank {} on {} is slow: stage {} computed for {:.2f} s in step {}, planned were {:.2f} s, "
      "which is {:.1f} times the other ranks' ratio",
      r.rank, r.host, r.stage, r.busy_s, r.step, r.planned_busy_s, straggler.factor);
}

}  // namespace penstock::runtime
