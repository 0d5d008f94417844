#pragma once

#include <functional>

namespace penstock::test {

enum class ChildEnd { killed, finished, not_traceable };

/// Runs `work` in a child process that is killed by SIGKILL as it enters or leaves its `stop`-th
/// system call, counted from 0 at the start of `work`. Calls for memory and locks do not count.
/// `finished` if it made fewer; `not_traceable` where this machine forbids ptrace.
ChildEnd run_until_call(int stop, const std::function<void()>& work);

}  // namespace penstock::test
