// In TF32 products round their operands, and nothing else does.

#include "tests/emulated_cuda/emulation/tf32.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "comm/threads.h"
#include "layers/backend.h"
#include "layers/ops/conv2d.h"
#include "layers/ops/linear.h"
#include "layers/ops/recurrence.h"
#include "runtime/devices/device.h"
#include "tests/support/layers/tensors.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock::layers;
using Numbers = std::vector<float>;

Numbers noise(std::int64_t count, std::uint64_t seed) {
  const std::vector<double> numbers = penstock::test::uniform(count, seed);
  return {numbers.begin(), numbers.end()};
}

Numbers rounded(Numbers numbers) {
  for (float& number : numbers) number = rounded_to_tf32(number);
  return numbers;
}

std::unique_ptr<Backend> multiplier(Fp32Products products) {
  return make_cuda_backend(0, products);
}

/// A backend with tensors on it.
class OnDevice {
 public:
  explicit OnDevice(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  Tensor tensor(const Shape& shape, const Numbers& numbers) {
    const Tensor made{bytes(numbers.size() * sizeof(float)).data(), DType::f32, shape};
    backend_->copy_in(*stream_, made.data, numbers.data(), made.bytes());
    return made;
  }
  Tensor unwritten(const Shape& shape) {
    return tensor(shape, Numbers(static_cast<std::size_t>(element_count(shape)), NAN));
  }
  std::span<std::byte> bytes(std::size_t count) {
    return {memory_.emplace_back(backend_->allocate(count)).data(), count};
  }
  template <class Operation>
  void run(const Operation& operation) {
    backend_->run(*stream_, operation);
  }
  Numbers numbers(const Tensor& tensor) {
    Numbers found(static_cast<std::size_t>(tensor.size()));
    backend_->copy_out(*stream_, found.data(), tensor.data, tensor.bytes());
    backend_->synchronize(*stream_);
    return found;
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Stream> stream_ = backend_->make_stream({});
  std::vector<Buffer> memory_;
};

Numbers multiply(std::unique_ptr<Backend> backend, const Numbers& x_FI, const Numbers& w_OI) {
  OnDevice on(std::move(backend));
  const Tensor y = on.unwritten({5, 3});
  on.run(LinearForward{on.tensor({5, 7}, x_FI), on.tensor({3, 7}, w_OI), {}, y});
  return on.numbers(y);
}

Numbers convolve(Fp32Products products, const Numbers& x_FC, const Numbers& weight) {
  const std::vector<std::int64_t> lengths = {6};
  const Conv2dGeometry geometry{.in_channels = 4,  // as tensor cores take them
                                .out_channels = 4,
                                .frequency = {1, 1, 0},
                                .time = {3, 1, 1},
                                .in_frequencies = 2,
                                .lengths = lengths};
  OnDevice on(multiplier(products));
  const Tensor y = on.unwritten({6, geometry.out_columns()});
  const std::size_t workspace = conv2d_sizes({DeviceKind::cuda}, geometry).forward;
  on.run(Conv2dForward{geometry, on.tensor({6, geometry.in_columns()}, x_FC),
                       on.tensor(geometry.weight_shape(), weight), y, on.bytes(workspace)});
  return on.numbers(y);
}

TEST(Tf32, RoundsOperandsOfProducts) {
  const Numbers x = noise(5 * 7, 1), w = noise(3 * 7, 2);
  const Numbers in_tf32 = multiply(multiplier(Fp32Products::tf32), x, w);
  EXPECT_EQ(in_tf32, multiply(multiplier(Fp32Products::full), rounded(x), rounded(w)));
  EXPECT_NE(in_tf32, multiply(multiplier(Fp32Products::full), x, w));
}

TEST(Tf32, IsTakenWhereTheRecipeSaysSo) {
  const Numbers x = noise(5 * 7, 1), w = noise(3 * 7, 2);
  penstock::configs::TrainerConfig config;
  config.device = "cuda";
  penstock::comm::run_as_threads({.ranks = 1}, [&](penstock::comm::Communicator& world) {
    for (const auto& [compute, products] :
         {std::pair{"fp32", Fp32Products::full}, std::pair{"tf32", Fp32Products::tf32}}) {
      const penstock::configs::PrecisionConfig precision{.compute = compute};
      const Numbers expected = multiply(multiplier(products), x, w);
      EXPECT_EQ(multiply(penstock::runtime::choose_device(config, world, precision).backend, x, w),
                expected)
          << compute;
      EXPECT_EQ(multiply(penstock::runtime::make_backend(config, precision), x, w), expected)
          << compute;
    }
  });
}

TEST(Tf32, RoundsOperandsOfConvolutions) {
  const Numbers x = noise(6 * 8, 3), weight = noise(4 * 4 * 3, 4);
  const Numbers in_tf32 = convolve(Fp32Products::tf32, x, weight);
  EXPECT_EQ(in_tf32, convolve(Fp32Products::full, rounded(x), rounded(weight)));
  EXPECT_NE(in_tf32, convolve(Fp32Products::full, x, weight));
}

/// A recurrence over two frames of one utterance: its second state is tanh(p + b + U h).
class Tf32Recurrence : public ::testing::Test {
 protected:
  static constexpr std::size_t kHidden = 35;

  Numbers states(Fp32Products products) const {
    const std::vector<std::int64_t> lengths = {2};
    const RecurrenceShape shape{RecurrenceKind::tanh, 1, kHidden, lengths};
    OnDevice on(multiplier(products));
    const Tensor y = on.unwritten({2, kHidden});
    const std::size_t workspace = recurrence_workspace({DeviceKind::cuda}, shape).forward;
    on.run(RecurrenceForward{shape,
                             on.tensor({2, kHidden}, p_FP),
                             on.tensor({1, kHidden, kHidden}, w_DGH),
                             on.tensor({1, kHidden}, b_DG),
                             y,
                             {},
                             on.bytes(workspace)});
    return on.numbers(y);
  }
  /// The second state's distance from tanh(p + b + U' h'), at most.
  double distance(const Numbers& y_FH, const Numbers& u, const Numbers& h) const {
    double max = 0;
    for (std::size_t row = 0; row < kHidden; ++row) {
      double sum = p_FP[kHidden + row] + b_DG[row];
      for (std::size_t k = 0; k < kHidden; ++k) sum += double{u[row * kHidden + k]} * h[k];
      max = std::max(max, std::abs(std::tanh(sum) - y_FH[kHidden + row]));
    }
    return max;
  }

  const Numbers p_FP = noise(2 * kHidden, 5), w_DGH = noise(kHidden * kHidden, 6),
                b_DG = noise(kHidden, 7);
};

TEST_F(Tf32Recurrence, RoundsOperandsOfItsProducts) {
  const Numbers in_tf32 = states(Fp32Products::tf32), in_full = states(Fp32Products::full);
  const Numbers first(in_tf32.begin(), in_tf32.begin() + kHidden);
  const double order_of_sums = 1e-6;
  EXPECT_LE(distance(in_tf32, rounded(w_DGH), rounded(first)), order_of_sums);
  EXPECT_LE(distance(in_full, w_DGH, first), order_of_sums);
  EXPECT_GT(distance(in_tf32, w_DGH, first), 100 * order_of_sums);
}

}  // namespace
}  // namespace emulated_cuda::test
