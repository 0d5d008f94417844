// Runs every test in several of the orders that CUDA allows: --gtest_repeat says in how many.

#include <gtest/gtest.h>

#include <cstdio>

#include "comm/nccl.h"
#include "tests/emulated_cuda/emulation/control.h"
#include "tests/emulated_cuda/gpu_check_list.h"

namespace emulated_cuda {
namespace {

/// First to last, last to first, then random ones.
Order order_of(int iteration) {
  if (iteration < 2) return Order(iteration == 0 ? Order::Kind::forward : Order::Kind::reversed);
  return Order(Order::Kind::random, static_cast<std::uint64_t>(iteration));
}

class Orders final : public ::testing::EmptyTestEventListener {
  void OnTestIterationStart(const ::testing::UnitTest&, int iteration) override {
    iteration_ = iteration;
    std::printf("order %d: %s\n", iteration,
                iteration == 0   ? "forward, oldest stream first"
                : iteration == 1 ? "reversed, newest stream first"
                                 : "random, its number the seed");
  }
  void OnTestStart(const ::testing::TestInfo&) override { set_order(order_of(iteration_)); }
  void OnTestEnd(const ::testing::TestInfo&) override {
    EXPECT_EQ(leftovers(), "") << "the test must give back what it takes of CUDA";
  }

  int iteration_ = 0;
};

}  // namespace
}  // namespace emulated_cuda

int main(int argc, char** argv) {
  penstock::comm::set_nccl_defaults();  // as a rank of penstock does
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::TestEventListeners& listeners = ::testing::UnitTest::GetInstance()->listeners();
  ::testing::TestEventListener* const printer =
      listeners.Release(listeners.default_result_printer());
  listeners.Append(new emulated_cuda::Orders);  // before the printer, which tells what it finds
  listeners.Append(emulated_cuda::devices_in_the_list());
  listeners.Append(printer);
  return RUN_ALL_TESTS();
}
