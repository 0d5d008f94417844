#include "layers/ops/span_mask.h"

#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {
namespace {

/// A frame's masks, for one channel after the other.
struct MaskedFrame {
  bool whole;                    // true if the frame is masked
  const std::int32_t* channels;  // 1 for masked channels; null if there are none

  bool masks(std::int64_t channel) const { return channels != nullptr && channels[channel] != 0; }
};

MaskedFrame masked_frame(const SpanMask& mask, std::int64_t frame, std::int64_t channels) {
  const std::int32_t code = mask.utterances_F.as<std::int32_t>()[frame];
  const std::int64_t utterance = code < 0 ? -1 - code : code;
  const bool some = mask.channels_UC.data != nullptr;
  return {code < 0, some ? mask.channels_UC.as<std::int32_t>() + utterance * channels : nullptr};
}

}  // namespace

template <>
void CpuBackend::compute(Stream&, const SpanMaskForward& op) {
  const std::int64_t frames = op.x_FC.shape.at(0), channels = op.x_FC.shape.at(1);
  for_real(op.x_FC.dtype, "SpanMaskForward", [&]<class T>(T) {
    const T* const embedding = op.embedding_C.as<T>();
    for (std::int64_t f = 0; f < frames; ++f) {
      const MaskedFrame frame = masked_frame(op.mask, f, channels);
      const T* const from = frame.whole ? embedding : op.x_FC.as<T>() + f * channels;
      T* const y = op.y_FC.as<T>() + f * channels;
      for (std::int64_t c = 0; c < channels; ++c) y[c] = frame.masks(c) ? T{0} : from[c];
    }
  });
}

template <>
void CpuBackend::compute(Stream&, const SpanMaskBackwardInput& op) {
  const std::int64_t frames = op.dy_FC.shape.at(0), channels = op.dy_FC.shape.at(1);
  for_real(op.dy_FC.dtype, "SpanMaskBackwardInput", [&]<class T>(T) {
    for (std::int64_t f = 0; f < frames; ++f) {
      const MaskedFrame frame = masked_frame(op.mask, f, channels);
      const T* const dy = op.dy_FC.as<T>() + f * channels;
      T* const dx = op.dx_FC.as<T>() + f * channels;
      for (std::int64_t c = 0; c < channels; ++c)
        dx[c] = frame.whole || frame.masks(c) ? T{0} : dy[c];
    }
  });
}

template <>
void CpuBackend::compute(Stream&, const SpanMaskBackwardWeight& op) {
  const std::int64_t frames = op.dy_FC.shape.at(0), channels = op.dy_FC.shape.at(1);
  for_real(op.dembedding_C.dtype, "SpanMaskBackwardWeight", [&]<class T>(T) {
    T* const sum = op.dembedding_C.as<T>();
    for (std::int64_t f = 0; f < frames; ++f) {
      const MaskedFrame frame = masked_frame(op.mask, f, channels);
      if (!frame.whole) continue;
      const T* const dy = op.dy_FC.as<T>() + f * channels;
      for (std::int64_t c = 0; c < channels; ++c)
        if (!frame.masks(c)) sum[c] += dy[c];
    }
  });
}

}  // namespace penstock::layers
