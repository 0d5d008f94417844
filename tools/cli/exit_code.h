#pragma once

#include <exception>

namespace penstock::tools {

/// Exit codes of the process. docs/errors.md explains each.
enum ExitCode {
  exit_done = 0,
  exit_other = 1,
  exit_usage = 2,
  exit_data = 3,
  exit_checkpoint = 4,
  exit_stopped = 85  // stopped on request; everything is saved
};

/// Returns the exit code of an error that nothing caught: ConfigError 2, DataError 3,
/// CheckpointError 4, anything else 1.
[[nodiscard]] ExitCode exit_code(const std::exception& error);

}  // namespace penstock::tools
