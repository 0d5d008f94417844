#include "tests/emulated_cuda/emulation/memory.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/grid.h"
#include "tests/emulated_cuda/emulation/machine.h"

namespace emulated_cuda {
namespace {

struct sigaction before;

void explain_bad_address(int signal, siginfo_t* info, void* context) {
  const std::string kind = machine().memory.kind_of(info->si_addr);
  if (kind != kHostMemory)
    fail(in_kernel() ? "a kernel" : "the host", " touches ", info->si_addr, ", ", kind);
  // Not ours to explain: a sanitizer says more, and without one the process dies of the signal.
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  std::signal(signal, SIG_DFL);
}

}  // namespace

Memory::Memory()
    : devices_{Arena(Arena::Of::device, "memory of device 0"),
               Arena(Arena::Of::device, "memory of device 1"),
               Arena(Arena::Of::device, "memory of device 2"),
               Arena(Arena::Of::device, "memory of device 3")},
      pinned_(Arena::Of::host, "pinned memory") {
  open_only(0);
}

void Memory::open_only(unsigned devices) {
  for (unsigned number = 0; number < kDevices; ++number)
    devices_[number].set_open((devices >> number & 1) != 0);
}

void Memory::expect_device(int number, const void* begin, std::size_t bytes, const char* what) {
  if (!device(number).holds(begin, bytes))
    fail(what, ", ", bytes, " bytes at ", begin, ", is not inside one allocation of device ",
         number, ": it is ", kind_of(begin));
}

void Memory::expect_pinned(const void* begin, std::size_t bytes, const char* what) {
  if (!pinned_.holds(begin, bytes))
    fail(what, ", ", bytes, " bytes at ", begin,
         ", is not inside one allocation of pinned memory: ", "it is ", kind_of(begin));
}

bool Memory::may_be_pointer(const void* word) const {
  const auto excludes = [word](const Arena& arena) {
    return arena.covers(word) && !arena.holds(word, 0);
  };
  return !excludes(pinned_) && std::ranges::none_of(devices_, excludes);
}

std::string Memory::kind_of(const void* address) const {
  for (const Arena& device : devices_)
    if (device.covers(address))
      return (device.holds(address, 1) ? "" : "freed or never allocated ") + device.name();
  if (pinned_.covers(address))
    return (pinned_.holds(address, 1) ? "" : "freed or never allocated ") + pinned_.name();
  return kHostMemory;
}

void catch_bad_addresses() {
  struct sigaction action = {};
  action.sa_sigaction = explain_bad_address;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &before);
}

}  // namespace emulated_cuda
