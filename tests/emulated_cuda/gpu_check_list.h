#pragma once

#include <gtest/gtest.h>

// tools/gpu_check lists every test of the CUDA backend that runs here.

namespace emulated_cuda {

/// Fails a test that needs several devices of which its line in the list says nothing, or another
/// number. For a list of listeners, which deletes it.
::testing::TestEventListener* devices_in_the_list();

}  // namespace emulated_cuda
