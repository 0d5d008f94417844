#include "layers/initialise.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <type_traits>
#include <vector>

#include "layers/ops/elementwise.h"
#include "layers/ops/positions.h"
#include "layers/philox.h"

namespace penstock::layers {
namespace {

// Separates the random streams of parameters from those of layers of the same name.
constexpr std::uint32_t kInitialisation = 0x696e6974;

template <class T>
T narrow(float value) {
  if constexpr (std::is_same_v<T, Half>) return to_half(value);
  if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(value);
  if constexpr (std::is_floating_point_v<T>) return static_cast<T>(value);
}

// Element i takes word i % 4 of block i / 4, so any range of elements can be filled by itself.
template <class T>
void fill(const Initialiser& how, const PhiloxStream& random, T* values, std::int64_t first,
          std::int64_t count) {
  if (how.kind == Initialiser::Kind::constant) {
    std::fill_n(values, count, narrow<T>(static_cast<float>(how.value)));
    return;
  }
  PhiloxBlock block = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::uint64_t>(first + i);
    if (i == 0 || place % 4 == 0) block = random(low_word(place / 4), high_word(place / 4));
    const double unit = static_cast<double>(block[place % 4]) * 0x1p-32;  // [0, 1)
    values[i] = narrow<T>(static_cast<float>(how.value * (2 * unit - 1)));
  }
}

/// Fills a range of a matrix of `channels` columns with sinusoidal positions in halves.
template <class T>
void fill_with_sinusoids(std::int64_t channels, T* values, std::int64_t first, std::int64_t count) {
  const std::int64_t half = channels / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = (first + i) / channels, channel = (first + i) % channels;
    const SinusoidPair pair = sinusoid_pair(channel % half, channels, SinusoidOrder::halves);
    const double angle = static_cast<double>(row) * std::pow(10000.0, pair.exponent);
    values[i] =
        narrow<T>(static_cast<float>(channel == pair.sine ? std::sin(angle) : std::cos(angle)));
  }
}

constexpr std::size_t kDrawn = (1 << 18) - 5;  // numbers before the noise repeats; rows differ

}  // namespace

void initialise(const ParamDecl& param, std::uint64_t seed, const Tensor& values,
                std::int64_t first) {
  const PhiloxStream random =
      philox_stream(seed, {hash_of_name(param.saved_name()), kInitialisation, 0, 0});
  const auto fill_as = [&](auto* to) {
    if (param.initialiser.kind == Initialiser::Kind::sinusoids)
      return fill_with_sinusoids(param.shape.back(), to, first, values.size());
    fill(param.initialiser, random, to, first, values.size());
  };
  if (values.dtype == DType::f64) return fill_as(values.as<double>());
  if (values.dtype == DType::f16) return fill_as(values.as<Half>());
  if (values.dtype == DType::bf16) return fill_as(values.as<BFloat16>());
  fill_as(values.as<float>());
}

// Drawing takes longer than copying, so the noise repeats. The numbers are made on the host in FP32
// and rounded to the tensor's dtype on the device.
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
