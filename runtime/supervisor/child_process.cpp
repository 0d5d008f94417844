#include "runtime/supervisor/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/error.h"

extern char** environ;

namespace penstock::runtime {
namespace {

constexpr std::size_t kMaxKept = 1 << 20;

struct Pipe {
  int read = -1, write = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(fmt::format("no pipe can be made: {}", std::generic_category().message(errno)));
  return {ends[0], ends[1]};
}

/// Returns the environment with these variables, which replace others of their names.
std::vector<std::string> environment_with(const Command& command) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : command.environment)
      replaced = replaced || (text.starts_with(name) && text.substr(name.size()).starts_with('='));
    if (!replaced) variables.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment)
    variables.push_back(fmt::format("{}={}", name, value));
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Becomes the command. Called in the child, where only calls are allowed that a signal handler may
/// make. The parent blocks signals, so they are unblocked here.
[[noreturn]] void become(char* const* words, char* const* variables, const Pipe& output,
                         const Pipe& errors, const Pipe& failure) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(output.write, STDOUT_FILENO);
  ::dup2(errors.write, STDERR_FILENO);
  ::execvpe(words[0], words, variables);
  const int code = errno;
  (void)!::write(failure.write, &code, sizeof code);
  ::_exit(127);
}

}  // namespace

// The pipe `failure` closes by itself when the program starts. Otherwise it brings the errno.
ChildProcess::ChildProcess(const Command& command) {
  std::vector<std::string> words = command.words, variables = environment_with(command);
  const std::vector<char*> arguments = pointers_to(words), environment = pointers_to(variables);
  const Pipe output = make_pipe(), errors = make_pipe(), failure = make_pipe();
  process_ = ::fork();
  if (process_ == 0) become(arguments.data(), environment.data(), output, errors, failure);
  for (const Pipe& pipe : {output, errors, failure}) ::close(pipe.write);
  output_ = output.read;
  errors_ = errors.read;
  int code = process_ < 0 ? errno : 0;
  if (process_ > 0 && ::read(failure.read, &code, sizeof code) <= 0) code = 0;
  ::close(failure.read);
  if (code != 0) {
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
    ::close(output_);
    ::close(errors_);
    throw Error(fmt::format("{} can't be started: {}", command.words.front(),
                            std::generic_category().message(code)));
  }
  for (const int descriptor : {output_, errors_})
    ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (!exit_code()) {
    signal_group(SIGKILL);
    wait(std::chrono::seconds(10));
  }
  ::close(output_);
  ::close(errors_);
}

std::optional<int> ChildProcess::exit_code() {
  int status = 0;
  if (!code_ && ::waitpid(process_, &status, WNOHANG) == process_)
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

void ChildProcess::signal(int number) {
  if (!exit_code()) ::kill(process_, number);
}

void ChildProcess::signal_group(int number) {
  if (!exit_code()) ::kill(-process_, number);
}

bool ChildProcess::wait(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!exit_code()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

bool read_available(int descriptor, std::string& text) {
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count == 0) return false;
    if (count < 0 && errno != EINTR) return errno == EAGAIN;
  }
}

CommandOutput run_command(const Command& command, std::chrono::milliseconds limit) {
  ChildProcess child(command);
  CommandOutput result;
  const auto end = std::chrono::steady_clock::now() + limit;
  bool open = true;
  while (open && !result.timed_out) {
    std::array<pollfd, 2> polled = {pollfd{child.output(), POLLIN, 0},
                                    pollfd{child.errors(), POLLIN, 0}};
    ::poll(polled.data(), polled.size(), 20);
    const bool output = read_available(child.output(), result.output);
    const bool errors = read_available(child.errors(), result.errors);
    open = (output || errors) && !child.exit_code();
    result.output.resize(std::min(result.output.size(), kMaxKept));
    result.errors.resize(std::min(result.errors.size(), kMaxKept));
    result.timed_out = open && std::chrono::steady_clock::now() > end;
  }
  if (result.timed_out) child.signal_group(SIGKILL);
  child.wait(std::chrono::seconds(10));
  read_available(child.output(), result.output);
  read_available(child.errors(), result.errors);
  result.code = child.exit_code().value_or(128 + SIGKILL);
  return result;
}

}  // namespace penstock::runtime
