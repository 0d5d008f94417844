// Products of a warp: every number of every operand has its place, in both ways of multiplying.

#include "layers/cuda/core/mma.h"

#include <gtest/gtest.h>

#include <cmath>

#include "layers/cuda/core/fragments.h"
#include "layers/cuda/core/launch.h"
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
  __syncwarp();
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

/// c = 1 + a · b by one warp in TF32: a has 16 rows of 8 numbers, b 8 rows of 8.
template <Way way>
__global__ void multiply_in_tf32(const float* a, const float* b, float* c) {
  const int group = thread_x() / 4, member = thread_x() % 4;
  const auto in = [](float number) { return from_float<Tf32>(number).bits; };
  const float *const upper = a + group * 8 + member, *const lower = upper + 8 * 8,
                     *const column = b + member * 8 + group;
  const FragmentA left = {{in(upper[0]), in(lower[0]), in(upper[4]), in(lower[4])}};
  const FragmentB right = {{in(column[0]), in(column[4 * 8])}};
  FragmentC sums;
  for (float& value : sums.values) value = 1;
  if constexpr (way == Way::instruction)
    multiply_add<Tf32>(left, right, sums);
  else
    multiply_add_by_shuffles<Tf32>(left, right, sums);
  for (int e = 0; e < 4; ++e) c[FragmentC::row(e) * 8 + FragmentC::column(e)] = sums.values[e];
}

template <Way way>
void expect_product_in_tf32(cudaStream_t stream, const DeviceArray<float>& a,
                            const DeviceArray<float>& b) {
  const DeviceArray<float> c(kRows * 8);
  launch(stream, {dim3(1), dim3(kWarp)}, multiply_in_tf32<way>, a.data(), b.data(), c.data());
  const std::vector<float> found = c.values(stream);
  for (int i = 0; i < kRows * 8; ++i) {
    int sum = 1;
    for (int k = 0; k < 8; ++k) sum += number_at(i / 8 * 8 + k) * number_at(1000 + k * 8 + i % 8);
    EXPECT_EQ(found[static_cast<std::size_t>(i)], static_cast<float>(sum))
        << i / 8 << ", " << i % 8;
  }
}

TEST_F(Mma, MultipliesInTf32) {
  const DeviceArray<float> a = numbers<float>(0), b = numbers<float>(1000);
  expect_product_in_tf32<Way::instruction>(stream_.get(), a, b);
  expect_product_in_tf32<Way::shuffles>(stream_.get(), a, b);
}

TEST(Tf32Format, IsRoundedToNearestTiesAway) {
  const auto in_tf32 = [](float number) { return to_float(from_float<Tf32>(number)); };
  const float spacing = 0x1p-10f, min = 0x1p-23f;
  EXPECT_EQ(in_tf32(1 + spacing), 1 + spacing);
  EXPECT_EQ(in_tf32(1 + spacing / 2), 1 + spacing);
  EXPECT_EQ(in_tf32(-1 - spacing / 2), -1 - spacing);
  EXPECT_EQ(in_tf32(1 + spacing / 2 - min), 1);
  EXPECT_EQ(in_tf32(2 - min), 2);
  EXPECT_EQ(in_tf32(-INFINITY), -INFINITY);
  EXPECT_TRUE(std::isnan(in_tf32(std::bit_cast<float>(0x7fffffff))));
}

TEST_F(Mma, MultipliesWithoutTensorCores) {
  expect_product<__half, Way::shuffles>(true);
  expect_product<__nv_bfloat16, Way::shuffles>(false);
}

}  // namespace
}  // namespace emulated_cuda::test
