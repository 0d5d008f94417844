#pragma once

#include <vector>

#include "tests/emulated_cuda/emulation/race/shadow.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda::race {

/// Sees every load and store of kernels, and what copies and library calls touch. fail() where two
/// accesses of which one writes are in no order: none of threads, blocks or streams that penstock
/// asked for, whatever order the emulator takes. And where what is read was never written, or lies
/// outside the arrays.
class RaceWatch final : public Watch {
 public:
  std::string name_of(const void* code) override;

  void memory_begins(const void* begin, std::size_t bytes, bool initialised) override;
  void memory_ends(const void* begin) override;

  void observe(bool kernel) override;
  void atomic(const void* place, std::size_t bytes, const void* code) override;

  void operation_begins(Timeline line, const Clock& clock) override;
  void operation_reads(const void* begin, std::size_t bytes) override;
  void operation_writes(const void* begin, std::size_t bytes) override;

  enum class Kind { read, write, atomic };
  /// Checks and records an access by the kernel's current thread.
  void kernel_access(const void* address, std::size_t bytes, Kind kind, const void* code);

 private:
  struct Operation {
    Timeline line;
    std::uint32_t count;
  };

  void access(const void* begin, std::size_t bytes, Kind kind, const Access& now);
  void check_order(const Access& earlier, const char* what, const Access& now, Kind kind) const;
  bool comes_before(const Access& earlier, const Access& now) const;
  void add_read(Cell& cell, const Access& now) const;
  Access now_in_kernel(const void* code) const;
  Access now_in_operation() const;

  Shadow shadow_;
  std::vector<Operation> operations_{{0, 0}};  // the first is nobody's
  Clock clock_;                                // what the current one may rely on
};

RaceWatch& race_watch();

/// Whether this host thread runs a kernel's own code.
bool observing();

}  // namespace emulated_cuda::race
