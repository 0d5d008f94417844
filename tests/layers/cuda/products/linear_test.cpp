#include "layers/ops/linear.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaLinear : public Parity {};

// Multiples of 8, as 16-byte loads of halves want them, and the alphabet's 29 outputs.
constexpr std::int64_t kInputs = 40;
constexpr std::int64_t kOutputs[] = {24, 29};

TEST_P(CudaLinear, Forward) {
  for (std::int64_t rows : kRows)
    for (std::int64_t outputs : kOutputs)
      for (bool with_bias : {true, false}) {
        const Twin x = random(dtype(), {rows, kInputs}), w = random(dtype(), {outputs, kInputs});
        const Twin b = with_bias ? random(dtype(), {outputs}) : Twin{};
        const Twin y = unwritten(dtype(), {rows, outputs});
        run(LinearForward{x.cpu, w.cpu, b.cpu, y.cpu},
            LinearForward{x.cuda, w.cuda, b.cuda, y.cuda});
        expect_close(y, tolerance(), "y");
      }
}

TEST_P(CudaLinear, ForwardWithABiasThatIsNotAligned) {
  for (const std::int64_t inputs : {kInputs, kInputs - 5}) {
    const Twin x = random(dtype(), {9, inputs}), w = random(dtype(), {29, inputs});
    const Twin biases = random(dtype(), {30}), y = unwritten(dtype(), {9, 29});
    const auto second_on = [&](Tensor bias) {
      bias.data = static_cast<std::byte*>(bias.data) + size_of(bias.dtype);
      bias.shape = {29};
      return bias;
    };
    run(LinearForward{x.cpu, w.cpu, second_on(biases.cpu), y.cpu},
        LinearForward{x.cuda, w.cuda, second_on(biases.cuda), y.cuda});
    expect_close(y, tolerance(), "y");
  }
}

TEST_P(CudaLinear, BackwardInput) {
  for (std::int64_t rows : kRows)
    for (std::int64_t outputs : kOutputs) {
      const Twin dy = random(dtype(), {rows, outputs}), w = random(dtype(), {outputs, kInputs});
      const Twin dx = unwritten(dtype(), {rows, kInputs});
      run(LinearBackwardInput{dy.cpu, w.cpu, dx.cpu},
          LinearBackwardInput{dy.cuda, w.cuda, dx.cuda});
      expect_close(dx, tolerance(), "dx");
    }
}

TEST_P(CudaLinear, BackwardWeight) {
  for (std::int64_t rows : kRows)
    for (std::int64_t outputs : kOutputs) {
      const Twin x = random(dtype(), {rows, kInputs}), dy = random(dtype(), {rows, outputs});
      const Twin dw = random(DType::f32, {outputs, kInputs}), db = random(DType::f32, {outputs});
      for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
        run(LinearBackwardWeight{x.cpu, dy.cpu, dw.cpu, db.cpu},
            LinearBackwardWeight{x.cuda, dy.cuda, dw.cuda, db.cuda});
      expect_close(dw, sum_tolerance(), "dw");  // FP32 sums whatever the inputs
      expect_close(db, 1e-5, "db");
    }
}

PARITY_OF_ALL_PRODUCTS(Cuda, CudaLinear);

}  // namespace
}  // namespace penstock::layers
