#include "tests/emulated_cuda/emulation/race/location.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>

// The linker's: where the program's memory begins and ends.
extern "C" char __executable_start, end;

namespace emulated_cuda::race {

std::uint32_t place_of(const void* code) {
  return static_cast<std::uint32_t>(static_cast<const char*>(code) - &__executable_start);
}

bool is_of_program(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  return byte >= &__executable_start && byte < &end;
}

std::string location_of(std::uint32_t place) {
  std::array<char, 512> text{};
  std::snprintf(text.data(), text.size(), "addr2line -Csfpe /proc/%d/exe 0x%x", getpid(), place);
  const std::unique_ptr<FILE, int (*)(FILE*)> output(popen(text.data(), "r"), pclose);
  if (output == nullptr || std::fgets(text.data(), text.size(), output.get()) == nullptr)
    return "an unknown place";
  const std::string line = text.data();
  return line.substr(0, line.find('\n'));
}

}  // namespace emulated_cuda::race
