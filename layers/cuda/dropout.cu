#include <vector>

#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/numbers.h"
#include "layers/cuda/utterances.h"
#include "layers/ops/dropout.h"
#include "layers/philox.h"

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kGroup = 4;  // channels that one random block decides on

struct Mask {
  const PhiloxStream* random;  // of each utterance
  Utterances utterances;
  std::uint64_t limit;  // a channel is dropped where its 32 bits are below
  float scale;          // of what stays
};

template <class T>
__global__ void drop(const T* from, T* to, std::int64_t rows, std::int64_t channels, Mask mask) {
  const std::int64_t groups = (channels + kGroup - 1) / kGroup, i = grid_thread();
  if (i >= rows * groups) return;
  const std::int64_t row = i / groups, group = i % groups, first = group * kGroup;
  const PhiloxStream random = mask.random[mask.utterances.of_row[row]];
  const PhiloxBlock bits = random(static_cast<std::uint32_t>(group),
                                  static_cast<std::uint32_t>(row - mask.utterances.begin(row)));
  for (int k = 0; k < kGroup && first + k < channels; ++k) {
    const std::int64_t place = row * channels + first + k;
    to[place] = from_float<T>(
        bits[static_cast<std::size_t>(k)] < mask.limit ? 0.0f : to_float(from[place]) * mask.scale);
  }
}

/// The key and the upper counter of each utterance's numbers: hashed here, since they are few.
std::vector<PhiloxStream> streams_of(const DropoutMask& mask) {
  std::vector<PhiloxStream> streams;
  for (const std::uint64_t utterance : mask.random.utterances)
    streams.push_back(philox_stream(mask.random.seed, {mask.layer, mask.random.epoch,
                                                       low_word(utterance), high_word(utterance)}));
  return streams;
}

void run(CudaStream& stream, const char* operation, const Tensor& from, const Tensor& to,
         const DropoutMask& mask) {
  const auto streams = streams_of(mask);
  Scratch scratch = stream.scratch();
  auto* const random = scratch.take<PhiloxStream>(static_cast<std::int64_t>(streams.size()));
  stream.copy_in(random, streams.data(), streams.size() * sizeof(PhiloxStream));
  const UtterancesRoom room(scratch, mask.lengths);
  const Mask on_device{.random = random,
                       .utterances = upload_utterances(stream, mask.lengths, room),
                       .limit = static_cast<std::uint64_t>(mask.probability * 0x1p32),
                       .scale = static_cast<float>(1 / (1 - mask.probability))};
  const std::int64_t rows = from.shape.at(0), channels = from.shape.at(1);
  with_type_of(from, operation, [&]<class T>(T) {
    launch(stream.handle(), grid_over(rows * ((channels + kGroup - 1) / kGroup)), drop<T>,
           data_of<T>(from), data_of<T>(to), rows, channels, on_device);
  });
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const DropoutForward& op) {
  cuda::run(static_cast<CudaStream&>(stream), "DropoutForward", op.x_FC, op.y_FC, op.mask);
}

template <>
void CudaBackend::compute(Stream& stream, const DropoutBackward& op) {
  cuda::run(static_cast<CudaStream&>(stream), "DropoutBackward", op.dy_FC, op.dx_FC, op.mask);
}

}  // namespace penstock::layers
