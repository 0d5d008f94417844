#include "tools/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "tools/cli/escaped_stream.h"

// A bar is one line that is redrawn from its beginning. Text of others in between would be joined
// to it, so say() ends the line first, and the next show() draws a new one below. Without a
// terminal there is nothing to redraw, and lines are written rarely, for log files.

namespace penstock::tools {
namespace {

constexpr int bar_width = 24;
constexpr std::chrono::seconds between_lines{10};
constexpr std::chrono::milliseconds between_bars{100};

/// Returns "75:03" for 75 minutes and 3 seconds.
std::string clock_text(std::int64_t seconds) {
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

std::string bar(std::int64_t step, std::int64_t total) {
  std::string text(bar_width, '.');
  const std::int64_t full = bar_width * step / std::max<std::int64_t>(total, 1);
  std::fill_n(text.begin(), std::clamp<std::int64_t>(full, 0, bar_width), '#');
  return text;
}

}  // namespace

Progress::Progress(std::ostream& out, bool terminal, std::int64_t done, std::int64_t total)
    : out_(out), terminal_(terminal), done_(done), total_(total) {}

Progress::~Progress() {
  if (drawn_) out_ << "\n" << std::flush;
}

// The pace is that of this run's steps alone: an earlier run may have had another machine.
std::string Progress::remaining(std::int64_t step, Clock::time_point now) const {
  if (step <= done_) return "";
  const double passed = std::chrono::duration<double>(now - start_).count();
  const auto left = static_cast<std::int64_t>(passed * (total_ - step) / (step - done_));
  return fmt::format(", {} left", clock_text(left));
}

void Progress::show(std::int64_t step, const std::string& facts, Clock::time_point now) {
  // A line or bar is due at the first step and then at most once in an interval. The last step is
  // always shown.
  const bool due =
      shown_ == Clock::time_point() ||
      now - shown_ >= (terminal_ ? Clock::duration(between_bars) : Clock::duration(between_lines));
  if (!due && step != total_) return;
  shown_ = now;
  const std::string count = fmt::format("{}/{}{}", step, total_, remaining(step, now));
  if (terminal_) {
    out_ << Unescaped{"\r\x1b[K"} << fmt::format("[{}] {}  {}", bar(step, total_), count, facts)
         << std::flush;
    drawn_ = true;
  } else {
    out_ << fmt::format("step {}  {}\n", count, facts) << std::flush;
  }
}

void Progress::say(const std::string& text) {
  out_ << (drawn_ ? "\n" : "") << text << "\n" << std::flush;
  drawn_ = false;
}

bool error_is_terminal() { return isatty(STDERR_FILENO) != 0; }

}  // namespace penstock::tools
