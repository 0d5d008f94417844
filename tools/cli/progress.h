#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>

namespace penstock::tools {

/// Shows the progress of a long run. On a terminal it is a bar that is redrawn; elsewhere it is a
/// plain line at most every ten seconds, and one for the last step.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts at `done` steps, those of an earlier run, and ends at `total`.
  Progress(std::ostream& out, bool terminal, std::int64_t done, std::int64_t total);
  /// Ends the line of the bar, which stays on the screen.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows that `step` steps are done at `now`; `facts` ("loss 1.23") follow the bar.
  void show(std::int64_t step, const std::string& facts, Clock::time_point now = Clock::now());
  /// Writes a line of its own. A bar before it stays on the screen.
  void say(const std::string& text);

 private:
  std::string remaining(std::int64_t step, Clock::time_point now) const;

  std::ostream& out_;
  bool terminal_;
  std::int64_t done_, total_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now(), shown_{};
};

/// Returns true if standard error is a terminal.
[[nodiscard]] bool error_is_terminal();

}  // namespace penstock::tools
