#pragma once

#include <cstddef>

namespace penstock::test {

/// Return the bytes that this process has in memory, now and at most since the peak began anew.
std::size_t resident();
std::size_t peak_resident();

/// Gives freed memory back to the system and begins the peak anew.
void restart_peak();

/// True under the sanitisers of addresses and threads, which keep freed memory and memory of their
/// own: what is resident says nothing there.
bool sanitised();

}  // namespace penstock::test
