#pragma once

#include <cstddef>
#include <string>

#include "tests/emulated_cuda/emulation/clock.h"

namespace emulated_cuda {

/// Observes what a build of the emulator sees besides values. One of address/ (AddressSanitizer)
/// and race/ (every load and store of the kernels) is linked.
class Watch {
 public:
  virtual ~Watch() = default;

  /// Name of a function of this program.
  virtual std::string name_of(const void* code) = 0;

  // The processor goes to another stack; `state` is kept with the one that is left.
  virtual void leave_stack(void** /*state*/, const void* /*to*/, std::size_t /*bytes*/) {}
  virtual void enter_stack(void* /*state*/) {}

  // Memory that nobody may touch, and may again.
  virtual void forbid(const void*, std::size_t /*bytes*/) {}
  virtual void allow(const void*, std::size_t /*bytes*/) {}
  /// Whether the address is of the host's heap, stack or globals.
  virtual bool is_of_host(const void*) { return false; }

  // Arrays that operations may use, from now, and no longer. The host writes, unseen, into its own:
  // they count as initialised.
  virtual void memory_begins(const void*, std::size_t /*bytes*/, bool /*initialised*/) {}
  virtual void memory_ends(const void*) {}

  /// Whether what runs now is a kernel's own code.
  virtual void observe(bool) {}
  virtual void atomic(const void*, std::size_t /*bytes*/, const void* /*code*/) {}

  // Operations of streams; one begins when the one before is done.
  virtual void operation_begins(Timeline, const Clock&) {}
  virtual void operation_reads(const void*, std::size_t /*bytes*/) {}
  virtual void operation_writes(const void*, std::size_t /*bytes*/) {}
};

Watch& watch();

/// While it lives, what runs is the emulator and no kernel.
class Unobserved {
 public:
  Unobserved() { watch().observe(false); }
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;
  ~Unobserved() { watch().observe(true); }
};

}  // namespace emulated_cuda
