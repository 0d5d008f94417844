#include "layers/noise.h"

#include <random>
#include <vector>

#include "layers/ops/cast.h"

namespace penstock::layers {
namespace {

constexpr std::size_t kDrawn = (1 << 18) - 5;  // numbers before the noise repeats; rows differ

}  // namespace

void fill_with_noise(Backend& backend, Stream& stream, const Tensor& tensor, float max) {
  std::vector<float> noise(static_cast<std::size_t>(tensor.size()));
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> any(-max, max);
  for (std::size_t i = 0; i < noise.size(); ++i)
    noise[i] = i < kDrawn ? any(random) : noise[i - kDrawn];
  Tensor full{nullptr, DType::f32, tensor.shape};
  const Buffer own = backend.allocate(full.bytes());
  full.data = own.data();
  backend.copy_in(stream, full.data, noise.data(), full.bytes());
  backend.run(stream, Cast{full, tensor});
  backend.synchronize(stream);  // before `own` is freed
}

}  // namespace penstock::layers
