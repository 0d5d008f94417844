#pragma once

#include <sys/types.h>

#include <string>

namespace penstock::test {

/// A script of the tree that serves until its standard input is closed. It ends with the object.
class ServerScript {
 public:
  /// Starts the script, with a word, and reads its first line.
  explicit ServerScript(const std::string& path, const std::string& word = "");
  ServerScript(const ServerScript&) = delete;
  ServerScript& operator=(const ServerScript&) = delete;
  ~ServerScript();

  /// Returns the first line that it printed, such as "port 1234".
  const std::string& line() const { return line_; }

 private:
  std::string line_;
  pid_t child_ = -1;
  int input_ = -1;
};

}  // namespace penstock::test
