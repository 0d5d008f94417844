#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/job/activity.h"

namespace penstock::runtime {

// A supervised rank tells its supervisor what it does, by lines on its standard output, which
// mpirun forwards. So heartbeats need no port and no password, and they pass wherever mpirun's own
// connections do. Each line is an ASCII record separator and a JSON object, as in RFC 7464; other
// lines of the output are not heartbeats.

/// Environment variable with the number of the incarnation, which a supervisor gives its ranks.
inline constexpr const char* kIncarnation = "PENSTOCK_INCARNATION";

/// Returns that number; nothing if no supervisor started this process.
[[nodiscard]] std::optional<std::int64_t> incarnation();

/// How a rank ended, as it says itself.
struct RankEnd {
  int rank = 0, code = 0;
  bool diverged = false;
  std::string message = {};  // the error or, after success, why it ended before its last step
  bool operator==(const RankEnd&) const = default;
};

[[nodiscard]] std::string heartbeat_line(const RankActivity& activity);
[[nodiscard]] std::string heartbeat_line(const RankEnd& end);

/// A line of a rank's output, of which at most one member is set.
struct ParsedLine {
  std::optional<RankActivity> activity = {};
  std::optional<RankEnd> end = {};
};

/// Parses a line without its newline. Both members are empty for a line that is no heartbeat, or
/// one that was cut.
[[nodiscard]] ParsedLine parse_heartbeat(std::string_view line);
/// Returns true if the line begins as a heartbeat does.
[[nodiscard]] bool looks_like_heartbeat(std::string_view line);

/// Writes how this rank ended, if it is supervised.
void announce_end(const RankEnd& end);

/// Makes the kernel kill this process when its parent, mpirun or its daemon, dies. Without that,
/// ranks may outlive a killed mpirun for some seconds.
void die_with_parent();

/// Writes a rank's activity to standard output once a second, and when its phase changes, in a
/// thread of its own.
class [[nodiscard]] Heartbeat {
 public:
  /// `activity` must outlive it.
  explicit Heartbeat(const Activity& activity);
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;
  ~Heartbeat();

 private:
  void beat();

  const Activity& activity_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool ending_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace penstock::runtime
