// Products of a warp: every number of every operand has its place, in both ways of multiplying.

#include "layers/cuda/mma.h"

#include <gtest/gtest.h>

#include "layers/cuda/fragments.h"
#include "layers/cuda/launch.h"
#include "tests/emulated_cuda/device_array.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock::layers::cuda;

constexpr int kRows = 16, kInner = 16, kColumns = 8, kPitch = 24;

/// Small whole numbers, all products and sums of which halves and floats hold exactly.
int number_at(int place) { return place * 7919 % 31 - 15; }

enum class Way { instruction, shuffles };

/// c = 1 + a · b by one warp, with b given as rows or as columns.
template <class T, Way way>
__global__ void multiply_once(const T* a, const T* b, float* c, bool transposed) {
  using Row = T[kPitch];
  BLOCK_SHARED(Row, a_rows, [kRows]);
  BLOCK_SHARED(Row, b_rows, [kInner]);
  for (int i = thread_x(); i < kRows * kPitch; i += kWarp) {
    a_rows[i / kPitch][i % kPitch] = a[i];
    b_rows[i / kPitch][i % kPitch] = b[i];
  }
  sync_warp();
  const FragmentA left = load_a(&a_rows[0][0], kPitch);
  const FragmentB right =
      transposed ? load_transposed_b(&b_rows[0][0], kPitch) : load_b(&b_rows[0][0], kPitch);
  FragmentC sums;
  for (float& value : sums.values) value = 1;
  if constexpr (way == Way::instruction)
    multiply_add<T>(left, right, sums);
  else
    multiply_add_by_shuffles<T>(left, right, sums);
  for (int e = 0; e < 4; ++e)
    c[FragmentC::row(e) * kColumns + FragmentC::column(e)] = sums.values[e];
}

/// The same as plain loops have it.
float expected(int row, int column, bool transposed) {
  int sum = 1;
  for (int k = 0; k < kInner; ++k)
    sum += number_at(row * kPitch + k) *
           number_at(1000 + (transposed ? column * kPitch + k : k * kPitch + column));
  return static_cast<float>(sum);
}

class Mma : public ::testing::Test {
 protected:
  template <class T>
  DeviceArray<T> numbers(int first) {
    DeviceArray<T> made(kRows * kPitch);
    int place = first;
    for (T& number : made.pinned()) number = from_float<T>(static_cast<float>(number_at(place++)));
    made.upload(stream_.get());
    return made;
  }
  template <class T, Way way>
  void expect_product(bool transposed) {
    const DeviceArray<T> a = numbers<T>(0), b = numbers<T>(1000);
    const DeviceArray<float> c(kRows * kColumns);
    launch(stream_.get(), {dim3(1), dim3(kWarp)}, multiply_once<T, way>, a.data(), b.data(),
           c.data(), transposed);
    const std::vector<float> found = c.values(stream_.get());
    for (int row = 0; row < kRows; ++row)
      for (int column = 0; column < kColumns; ++column)
        EXPECT_EQ(found[static_cast<std::size_t>(row * kColumns + column)],
                  expected(row, column, transposed))
            << row << ", " << column;
  }

  StreamHandle stream_ = make_stream_handle();
};

TEST_F(Mma, MultipliesRowsByRows) {
  expect_product<__half, Way::instruction>(true);
  expect_product<__nv_bfloat16, Way::instruction>(true);
}

TEST_F(Mma, MultipliesRowsByColumns) {
  expect_product<__half, Way::instruction>(false);
  expect_product<__nv_bfloat16, Way::instruction>(false);
}

TEST_F(Mma, MultipliesWithoutTensorCores) {
  expect_product<__half, Way::shuffles>(true);
  expect_product<__nv_bfloat16, Way::shuffles>(false);
}

}  // namespace
}  // namespace emulated_cuda::test
