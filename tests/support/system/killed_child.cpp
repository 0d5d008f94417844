#include "tests/support/system/killed_child.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace penstock::test {
namespace {

constexpr int kNotTraceable = 77;

[[noreturn]] void be_child(const std::function<void()>& work) {
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(kNotTraceable);
  ::raise(SIGSTOP);  // the parent starts to count here
  try {
    work();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

/// Whether the call at which the child stands may change or read files. Of those for memory and
/// locks there are more or fewer from run to run.
bool stands_at_file_call(pid_t child) {
  constexpr unsigned long long kOthers[] = {SYS_brk,      SYS_mmap,    SYS_munmap, SYS_mremap,
                                            SYS_mprotect, SYS_madvise, SYS_futex,  SYS_sched_yield};
  user_regs_struct registers{};
  ::ptrace(PTRACE_GETREGS, child, nullptr, &registers);
  return std::ranges::find(kOthers, registers.orig_rax) == std::end(kOthers);
}

}  // namespace

ChildEnd run_until_call(int stop, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child process could be made");
  if (child == 0) be_child(work);
  int status = 0;
  ::waitpid(child, &status, 0);
  for (int calls = 0; WIFSTOPPED(status); calls += stands_at_file_call(child)) {
    if (calls > stop) {
      ::kill(child, SIGKILL);
    } else {
      ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    }
    ::waitpid(child, &status, 0);
  }
  if (WIFSIGNALED(status)) return ChildEnd::killed;
  if (WEXITSTATUS(status) == kNotTraceable) return ChildEnd::not_traceable;
  if (WEXITSTATUS(status) != 0) throw std::runtime_error("the child's work failed");
  return ChildEnd::finished;
}

}  // namespace penstock::test
