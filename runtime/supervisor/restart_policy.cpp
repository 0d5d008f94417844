#include "runtime/supervisor/restart_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantities.h"
#include "runtime/job/exit_code.h"

namespace penstock::runtime {
namespace {

int supervisor_code(const JobEnd& end) {
  if (end.kind == JobEndKind::done) return exit_done;
  if (end.kind == JobEndKind::stopped) return exit_stopped;
  return end.kind == JobEndKind::hung ? exit_hung : std::max(end.code, 1);
}

}  // namespace

Decision RestartPolicy::decide(const JobEnd& end, bool wanted) {
  Decision decision{.code = supervisor_code(end)};
  if (end.kind == JobEndKind::done) return decision;
  if (end.kind == JobEndKind::stopped && !wanted) return decision;
  const bool repeats = end.diverged || end.code == exit_usage || end.code == exit_data;
  if (end.kind == JobEndKind::failed && repeats) {
    decision.reason = "a restart would meet the same error";
    return decision;
  }
  const bool progressed = end.checkpoint > checkpoint_;
  checkpoint_ = std::max(checkpoint_, end.checkpoint);
  if (progressed || end.kind == JobEndKind::stopped) without_progress_ = 0;
  if (!progressed && end.kind != JobEndKind::stopped &&
      without_progress_ >= limits_.without_progress) {
    decision.reason = fmt::format("{} in a row made no new checkpoint",
                                  counted(without_progress_ + 1, "incarnation"));
    return decision;
  }
  if (without_progress_ > 0)
    decision.pause_s =
        std::min(limits_.max_pause_s, limits_.first_pause_s * std::exp2(without_progress_ - 1));
  if (!progressed && end.kind != JobEndKind::stopped) ++without_progress_;
  ++restarts_;
  decision.restarts = true;
  return decision;
}

}  // namespace penstock::runtime
