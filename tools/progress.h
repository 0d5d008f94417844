#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace penstock::tools {

/// How far a long run is: a bar that is rendered anew on a terminal, elsewhere a plain line at most
/// every ten seconds, and one for the last step.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// From `done` steps (those of an earlier run) to `total`.
  Progress(std::ostream& out, bool terminal, std::int64_t done, std::int64_t total);
  /// Leaves the bar behind as a line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `step` steps are done at `now`; `facts` ("loss 1.23") stand behind the bar.
  void show(std::int64_t step, const std::string& facts, Clock::time_point now = Clock::now());
  /// A line of its own; a bar before it is left behind.
  void say(const std::string& text);

 private:
  std::string remaining(std::int64_t step, Clock::time_point now) const;

  std::ostream& out_;
  bool terminal_;
  std::int64_t done_, total_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now(), shown_{};
};

/// Whether standard error is a terminal.
[[nodiscard]] bool error_is_terminal();

}  // namespace penstock::tools
