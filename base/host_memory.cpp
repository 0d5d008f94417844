#include "base/host_memory.h"

#include <unistd.h>

namespace penstock {

double host_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace penstock
