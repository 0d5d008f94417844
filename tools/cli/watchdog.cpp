#include "tools/cli/watchdog.h"

#include <cstdlib>
#include <thread>

namespace penstock::tools {

void end_process_within(std::chrono::milliseconds limit, int code) {
  std::thread([limit, code] {
    std::this_thread::sleep_for(limit);
    std::_Exit(code);
  }).detach();
}

}  // namespace penstock::tools
