// broken_device: a test program whose device, that is no real one, a test breaks for all after it.
// tests_test runs it.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/layers/device_watch.h"

namespace penstock::tools {
namespace {

class Device : public ::testing::Test {
 public:
  static std::string fault() {
    if (broken_) return "it broke";
    return "";
  }

 protected:
  static inline bool broken_ = false;
};

TEST_F(Device, IsWhole) { EXPECT_FALSE(broken_); }
TEST_F(Device, Breaks) { broken_ = true; }
TEST_F(Device, IsWholeInAnotherProcess) { EXPECT_FALSE(broken_); }
TEST_F(Device, IsLackedBySome) { GTEST_SKIP() << "another device is missing"; }

}  // namespace
}  // namespace penstock::tools

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  penstock::test::watch_device(
      {.fault = penstock::tools::Device::fault, .end = [] { std::_Exit(70); }});
  return RUN_ALL_TESTS();
}
