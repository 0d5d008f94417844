#pragma once

#include <string>
#include <vector>

namespace penstock::test {

/// Holds a command's exit code and what it printed.
struct Outcome {
  int code = 0;  // exit code; 128 + signal where a signal ended it
  std::string out, err;
};

/// Runs a program with these arguments in the current directory.
Outcome run_program(const std::vector<std::string>& words);

}  // namespace penstock::test
