#include "layers/ops/weight_norm.h"

#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaWeightNorm : public Parity {
 protected:
  static inline const Shape kWeights = {35, 7, 37}, kTaps = {1, 1, 37};
};

TEST_P(CudaWeightNorm, Forward) {
  const Twin v = random(dtype(), kWeights), g = random(DType::f32, kTaps);
  const Twin w = unwritten(dtype(), kWeights);
  run(WeightNormForward{v.cpu, g.cpu, w.cpu}, WeightNormForward{v.cuda, g.cuda, w.cuda});
  expect_close(w, tolerance(), "w");
}

TEST_P(CudaWeightNorm, Backward) {
  const Twin v = random(dtype(), kWeights), g = random(DType::f32, kTaps);
  const Twin dw = random(DType::f32, kWeights);
  const Twin dv = random(DType::f32, kWeights), dg = random(DType::f32, kTaps);
  for (int micro_batch = 0; micro_batch < 2; ++micro_batch)
    run(WeightNormBackward{v.cpu, g.cpu, dw.cpu, dv.cpu, dg.cpu},
        WeightNormBackward{v.cuda, g.cuda, dw.cuda, dv.cuda, dg.cuda});
  expect_close(dv, 1e-6, "dv");  // FP64 until the sums in FP32
  expect_close(dg, 1e-6, "dg");
}

PARITY_OF_ALL_TYPES(CudaWeightNorm);

}  // namespace
}  // namespace penstock::layers
