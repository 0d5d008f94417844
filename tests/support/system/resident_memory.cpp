#include "tests/support/system/resident_memory.h"

#include <dlfcn.h>
#include <malloc.h>

#include <fstream>
#include <string>

namespace penstock::test {
namespace {

std::size_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key)) return std::stoul(line.substr(line.find(':') + 1)) << 10;
  return 0;
}

}  // namespace

std::size_t resident() { return status_bytes("VmRSS"); }
std::size_t peak_resident() { return status_bytes("VmHWM"); }

void restart_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

bool sanitised() {
  return ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr ||
         ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
}

}  // namespace penstock::test
