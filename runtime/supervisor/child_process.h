#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// A command and the variables that are added to its environment.
struct Command {
  std::vector<std::string> words;  // the first is the program, looked up in PATH
  std::vector<std::pair<std::string, std::string>> environment = {};
};

/// A running command in a process group of its own, so that Ctrl-C at a terminal does not reach it.
/// Its output and errors are pipes that do not block. If this process dies, the command gets
/// SIGTERM.
class [[nodiscard]] ChildProcess {
 public:
  /// Error if the program can't be started.
  explicit ChildProcess(const Command& command);
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  /// Kills the whole group.
  ~ChildProcess();

  pid_t process() const { return process_; }
  int output() const { return output_; }
  int errors() const { return errors_; }

  /// Returns the exit code once the process has ended, 128 + the signal if one ended it.
  [[nodiscard]] std::optional<int> exit_code();
  /// Sends a signal to the process, or to its whole group. Does nothing after its end.
  void signal(int number);
  void signal_group(int number);
  /// Waits for the end; false if it takes longer.
  bool wait(std::chrono::milliseconds limit);

 private:
  pid_t process_ = -1;
  int output_ = -1, errors_ = -1;
  std::optional<int> code_;
};

/// Appends what can be read from a pipe without waiting. Returns false once it is closed.
bool read_available(int descriptor, std::string& text);

/// The output of a command that has ended.
struct CommandOutput {
  int code = 0;
  bool timed_out = false;
  std::string output, errors;
};

/// Runs a command to its end, or kills it after `limit`. At most 1 MiB of each pipe is kept. Error
/// if it can't be started.
[[nodiscard]] CommandOutput run_command(const Command& command, std::chrono::milliseconds limit);

/// Returns the text up to its first newline, for messages.
[[nodiscard]] inline std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace penstock::runtime
