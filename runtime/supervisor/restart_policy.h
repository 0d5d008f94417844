#pragma once

#include <cstdint>
#include <string>

namespace penstock::runtime {

/// How an incarnation of a run ended.
enum class JobEndKind {
  done,     // all steps are done, or validations no longer improve
  stopped,  // it saved its state on request
  failed,   // a rank failed or died
  hung,     // it was ended because it hung
};

struct JobEnd {
  JobEndKind kind = JobEndKind::failed;
  int code = 1;                 // exit code of the first rank that failed, or mpirun's
  bool diverged = false;        // the same steps would diverge again
  std::int64_t checkpoint = 0;  // step of the newest checkpoint after the end
  std::string message = {};     // for people: why it ended; empty if all steps are done
};

struct RestartLimits {
  int without_progress = 3;                    // restarts in a row without a new checkpoint
  double first_pause_s = 1, max_pause_s = 60;  // the pause doubles with each of these restarts
};

/// Says how a supervisor goes on after an incarnation.
struct Decision {
  bool restarts = false;
  double pause_s = 0;       // before the restart
  int code = 0;             // the supervisor's exit code if it does not restart
  std::string reason = {};  // for people: why it does not restart
};

/// Decides whether a run is started again. Errors that a restart would only repeat end it at once:
/// wrong recipes (2), bad data (3) and divergence. Other failures lead to a restart. A restart
/// after progress, which is a new checkpoint, comes at once; others after a growing pause, and only
/// without_progress times in a row.
class RestartPolicy {
 public:
  /// `checkpoint` is the step of the newest checkpoint before the first incarnation.
  RestartPolicy(const RestartLimits& limits, std::int64_t checkpoint)
      : limits_(limits), checkpoint_(checkpoint) {}

  /// `wanted` says that the supervisor stopped the incarnation to start another one, for example on
  /// more hosts.
  [[nodiscard]] Decision decide(const JobEnd& end, bool wanted);

  int restarts() const { return restarts_; }

 private:
  RestartLimits limits_;
  std::int64_t checkpoint_;
  int restarts_ = 0, without_progress_ = 0;
};

}  // namespace penstock::runtime
