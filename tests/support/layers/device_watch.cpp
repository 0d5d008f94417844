#include "tests/support/layers/device_watch.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <utility>

namespace penstock::test {
namespace {

using Failed = std::shared_ptr<bool>;

/// Before the verdict is printed.
class Asks final : public ::testing::EmptyTestEventListener {
 public:
  Asks(std::function<std::string()> fault, Failed failed)
      : fault_(std::move(fault)), failed_(std::move(failed)) {}

 private:
  void OnTestEnd(const ::testing::TestInfo&) override {
    const std::string fault = fault_();
    if (fault.empty()) return;
    *failed_ = true;
    ADD_FAILURE() << "the device is in error (" << fault
                  << "), and so would be every test after this one: the process ends here";
  }

  std::function<std::string()> fault_;
  Failed failed_;
};

/// After the verdict.
class Ends final : public ::testing::EmptyTestEventListener {
 public:
  Ends(std::function<void()> end, Failed failed)
      : end_(std::move(end)), failed_(std::move(failed)) {}

 private:
  void OnTestEnd(const ::testing::TestInfo&) override {
    if (!*failed_) return;
    std::fflush(nullptr);
    end_();
  }

  std::function<void()> end_;
  Failed failed_;
};

}  // namespace

void watch_device(const WatchedDevice& device) {
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  const auto failed = std::make_shared<bool>(false);
  // GoogleTest tells the last listener first that a test has ended.
  ::testing::TestEventListener* const printer =
      listeners.Release(listeners.default_result_printer());
  listeners.Append(new Ends(device.end, failed));
  listeners.Append(printer);
  listeners.Append(new Asks(device.fault, failed));
}

}  // namespace penstock::test
