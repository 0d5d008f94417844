#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "tests/emulated_cuda/emulation/failure.h"
#include "tests/emulated_cuda/emulation/watch.h"

namespace emulated_cuda {
namespace {

/// A sanitizer has found something and ends the process.
void tell_where() { std::fprintf(stderr, "emulated CUDA:%s\n", what_is_done().c_str()); }

/// For AddressSanitizer, which sees every access of the kernels and needs to be told of memory and
/// stacks that are not the compiler's.
class AddressWatch final : public Watch {
 public:
  AddressWatch() { __sanitizer_set_death_callback(tell_where); }

  std::string name_of(const void* code) override {
    std::array<char, 256> name{};
    // The symbolizer takes the address to which a call returns, which lies after the call.
    const auto place = reinterpret_cast<std::uintptr_t>(code) + 1;
    __sanitizer_symbolize_pc(reinterpret_cast<void*>(place), "%f", name.data(), name.size());
    return name.data();
  }

  void leave_stack(void** state, const void* to, std::size_t bytes) override {
    __sanitizer_start_switch_fiber(state, to, bytes);
  }
  void enter_stack(void* state) override {
    __sanitizer_finish_switch_fiber(state, nullptr, nullptr);
  }

  void forbid(const void* begin, std::size_t bytes) override {
    __asan_poison_memory_region(begin, bytes);
  }
  void allow(const void* begin, std::size_t bytes) override {
    __asan_unpoison_memory_region(begin, bytes);
  }

  bool is_of_host(const void* address) override {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    if (value < 4096 || value >> 47 != 0) return false;
    std::array<char, 8> name{};
    void* begin = nullptr;
    std::size_t bytes = 0;
    const std::string_view region =
        __asan_locate_address(const_cast<void*>(address), name.data(), name.size(), &begin, &bytes);
    return region == "stack" || region == "global" ||
           (region == "heap" && address >= begin &&
            address < static_cast<const char*>(begin) + bytes);
  }
};

}  // namespace

Watch& watch() {
  static AddressWatch watch;
  return watch;
}

}  // namespace emulated_cuda

// AddressSanitizer need not watch stacks that kernels have left, nor leaks. The emulator tells what
// a test leaves allocated on a device, and the asan preset what it leaves on the host.
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=0:detect_leaks=0:print_legend=0";
}
