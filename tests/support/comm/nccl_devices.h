#pragma once

#include <string>

namespace penstock::test {

/// Why a test whose ranks need so many devices and NCCL can't run here, such as "needs 4 devices, 1
/// here", by which tools/gpu_check counts it apart; empty where it can. It is noted of the test, so
/// that its line in tools/gpu/checks must say it (tests/emulated_cuda/gpu_check_list.cpp).
[[nodiscard]] std::string lack_for_nccl(int devices);

/// The note's key.
inline constexpr const char* kDevicesNeeded = "devices";

}  // namespace penstock::test
