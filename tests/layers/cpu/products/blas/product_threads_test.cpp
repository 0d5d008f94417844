// oneDNN asks OpenMP for its threads, of which every thread of a program has a number of its own.

#include <gtest/gtest.h>
#include <omp.h>

#include <thread>

#include "layers/backend.h"
#include "layers/cpu/products/product.h"

namespace penstock::layers {
namespace {

TEST(ProductThreads, EveryThreadKeepsToTheBackendsNumber) {
  const auto backend = make_cpu_backend(1);
  std::thread([] {
    omp_set_num_threads(3);  // as a new thread has it on a machine of three cores
    const float a = 2, b = 3;
    float c = 0;
    run_product(
        Product<float>{.m = 1, .n = 1, .k = 1, .a = {&a, 1}, .b = {&b, 1}, .c = &c, .c_stride = 1});
    EXPECT_EQ(omp_get_max_threads(), 1);
    EXPECT_EQ(c, 6);
  }).join();
}

}  // namespace
}  // namespace penstock::layers
