#include "runtime/job/heartbeat.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace penstock::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSeparator = '\x1e';
constexpr std::chrono::milliseconds kPeriod{1000}, kPoll{50};
// A write of at most PIPE_BUF bytes to a pipe is atomic, so lines of several writers do not mix.
constexpr std::size_t kMaxLine = 4096, kMaxMessage = 2500;

std::string format_line(const Json& json) {
  return kSeparator + json.dump(-1, ' ', true, Json::error_handler_t::replace) + '\n';
}

/// Writes a line at once. A heartbeat that can't be written is lost, and another one follows.
void write_line(const std::string& line) {
  if (line.size() <= kMaxLine && ::write(STDOUT_FILENO, line.data(), line.size()) < 0) return;
}

RankActivity parse_activity(const Json& json) {
  RankActivity a;
  a.rank = json.at("rank");
  a.stage = json.at("stage");
  a.replica = json.at("replica");
  a.host = json.at("host");
  a.process = json.at("process");
  a.phase = phase_of(json.at("phase").get<std::string>());
  a.step = json.at("step");
  a.steps = json.at("steps");
  a.action = json.at("action");
  a.events = json.at("events");
  a.seconds = json.at("seconds");
  a.planned_s = json.at("planned_s");
  a.waits_for = json.at("waits_for");
  a.busy_s = json.at("busy_s");
  a.planned_busy_s = json.at("planned_busy_s");
  a.step_s = json.at("step_s");
  a.save_s = json.at("save_s");
  return a;
}

}  // namespace

std::optional<std::int64_t> incarnation() {
  const char* text = std::getenv(kIncarnation);
  if (text == nullptr) return std::nullopt;
  const std::int64_t number = std::strtoll(text, nullptr, 10);
  if (number < 1) return std::nullopt;
  return number;
}

std::string heartbeat_line(const RankActivity& a) {
  return format_line({{"rank", a.rank},
                      {"stage", a.stage},
                      {"replica", a.replica},
                      {"host", a.host},
                      {"process", a.process},
                      {"phase", name_of(a.phase)},
                      {"step", a.step},
                      {"steps", a.steps},
                      {"action", a.action},
                      {"events", a.events},
                      {"seconds", a.seconds},
                      {"planned_s", a.planned_s},
                      {"waits_for", a.waits_for},
                      {"busy_s", a.busy_s},
                      {"planned_busy_s", a.planned_busy_s},
                      {"step_s", a.step_s},
                      {"save_s", a.save_s}});
}

// Characters outside ASCII take up to six bytes in JSON, so the message is cut early enough.
std::string heartbeat_line(const RankEnd& e) {
  std::string message = e.message.substr(0, kMaxMessage);
  std::string line;
  do {
    line = format_line(
        {{"rank", e.rank}, {"end", e.code}, {"diverged", e.diverged}, {"message", message}});
    message.resize(message.size() / 2);
  } while (line.size() > kMaxLine);
  return line;
}

bool looks_like_heartbeat(std::string_view line) {
  return !line.empty() && line.front() == kSeparator;
}

ParsedLine parse_heartbeat(std::string_view line) try {
  if (!looks_like_heartbeat(line)) return {};
  const Json json = Json::parse(line.substr(1));
  if (!json.contains("end")) return {.activity = parse_activity(json)};
  return {.end = RankEnd{json.at("rank"), json.at("end"), json.at("diverged"), json.at("message")}};
} catch (const std::exception&) {  // a line that was cut, or that a program of the user wrote
  return {};
}

void announce_end(const RankEnd& end) {
  if (incarnation()) write_line(heartbeat_line(end));
}

void die_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

Heartbeat::Heartbeat(const Activity& activity) : activity_(activity), thread_([this] { beat(); }) {}

Heartbeat::~Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_one();
  thread_.join();
  write_line(heartbeat_line(activity_.now()));
}

void Heartbeat::beat() {
  using Clock = std::chrono::steady_clock;
  std::optional<Phase> told;
  Clock::time_point last;
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const RankActivity now = activity_.now();
    if (now.phase != told || Clock::now() - last >= kPeriod) {
      write_line(heartbeat_line(now));
      told = now.phase;
      last = Clock::now();
    }
    ended_.wait_for(lock, kPoll, [this] { return ending_; });
  }
}

}  // namespace penstock::runtime
