#pragma once

namespace penstock::runtime {

/// Exit codes of the commands, and of the ranks of a job. docs/errors.md explains each.
enum ExitCode {
  exit_done = 0,
  exit_other = 1,
  exit_usage = 2,
  exit_data = 3,
  exit_checkpoint = 4,
  exit_stopped = 85,      // stopped on request; everything is saved
  exit_hung = 86,         // a rank hung
  exit_interrupted = 130  // a second Ctrl-C ended it without a save
};

}  // namespace penstock::runtime
