#pragma once

#include <functional>
#include <string>

namespace penstock::test {

/// Holds the functions that watch_device() calls.
struct WatchedDevice {
  std::function<std::string()> fault;  // waits for the device; empty where nothing failed in it
  std::function<void()> end;           // of the process
};

/// From now on the device is asked after each test. In one that is in error every later call fails
/// as well: the test after which that shows fails, and the process ends after its verdict.
void watch_device(const WatchedDevice& device);

}  // namespace penstock::test
