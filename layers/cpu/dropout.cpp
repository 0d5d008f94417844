#include "layers/ops/dropout.h"

#include <algorithm>

#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/for_real.h"
#include "layers/philox.h"

namespace penstock::layers {
namespace {

template <class T>
void drop(const DropoutMask& mask, std::int64_t channels, const T* from, T* to) {
  const auto limit = static_cast<std::uint64_t>(mask.probability * 0x1p32);
  const auto scale = static_cast<T>(1 / (1 - mask.probability));
  for (std::size_t u = 0; u < mask.lengths.size(); ++u) {
    const std::uint64_t utterance = mask.random.utterances[u];
    const PhiloxStream random =
        philox_stream(mask.random.seed,
                      {mask.layer, mask.random.epoch, low_word(utterance), high_word(utterance)});
    for (std::int64_t t = 0; t < mask.lengths[u]; ++t, from += channels, to += channels)
      for (std::int64_t c = 0; c < channels; c += 4) {
        const PhiloxBlock block =
            random(static_cast<std::uint32_t>(c / 4), static_cast<std::uint32_t>(t));
        const std::int64_t width = std::min<std::int64_t>(4, channels - c);
        for (std::int64_t k = 0; k < width; ++k)
          to[c + k] = block[static_cast<std::size_t>(k)] < limit ? T{0} : from[c + k] * scale;
      }
  }
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const DropoutForward& op) {
  for_real(op.x_FC.dtype, "DropoutForward",
           [&]<class T>(T) { drop(op.mask, op.x_FC.shape[1], op.x_FC.as<T>(), op.y_FC.as<T>()); });
}

template <>
void CpuBackend::compute(Stream&, const DropoutBackward& op) {
  for_real(op.dy_FC.dtype, "DropoutBackward", [&]<class T>(T) {
    drop(op.mask, op.dy_FC.shape[1], op.dy_FC.as<T>(), op.dx_FC.as<T>());
  });
}

}  // namespace penstock::layers
