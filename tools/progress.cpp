#include "tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>

namespace penstock::tools {
namespace {

constexpr int bar_width = 24;
constexpr std::chrono::seconds between_lines{10};
constexpr std::chrono::milliseconds between_bars{100};

std::string clock_text(std::int64_t seconds) {
  std::string text = std::to_string(seconds / 60);
  text += seconds % 60 < 10 ? ":0" : ":";
  return text += std::to_string(seconds % 60);
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

std::string Progress::remaining(std::int64_t step, Clock::time_point now) const {
  if (step <= done_) return "";
  const double passed = std::chrono::duration<double>(now - start_).count();
  return ", " + clock_text(static_cast<std::int64_t>(passed * (total_ - step) / (step - done_))) +
         " left";
}

void Progress::show(std::int64_t step, const std::string& facts, Clock::time_point now) {
  const bool due =
      shown_ == Clock::time_point() ||
      now - shown_ >= (terminal_ ? Clock::duration(between_bars) : Clock::duration(between_lines));
  if (!due && step != total_) return;
  shown_ = now;
  const std::string count =
      std::to_string(step) + "/" + std::to_string(total_) + remaining(step, now);
  if (terminal_) {
    out_ << "\r\x1b[K"
         << "[" << bar(step, total_) << "] " << count << "  " << facts << std::flush;
    drawn_ = true;
  } else {
    out_ << "step " << count << "  " << facts << "\n" << std::flush;
  }
}

void Progress::say(const std::string& text) {
  out_ << (drawn_ ? "\n" : "") << text << "\n" << std::flush;
  drawn_ = false;
}

bool error_is_terminal() { return isatty(STDERR_FILENO) != 0; }

}  // namespace penstock::tools
