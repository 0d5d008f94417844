#include <vector>

#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/utterances.h"
#include "layers/cuda/elementwise/elementwise.h"
#include "layers/ops/elementwise.h"
#include "layers/philox.h"

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kGroup = 4;  // channels that one random block decides on

struct Mask {
  const PhiloxStream* random;  // of each utterance
  Utterances utterances;
  std::uint64_t limit;  // a channel is dropped if its 32 bits are below this
  float scale;          // applied to what stays
};

/// Drops channels by counter-based random numbers (Philox; Salmon et al. 2011). Word c % 4 of block
/// (c / 4, frame) of the utterance's stream decides on channel c. So the mask depends neither on
/// the grid nor on the micro-batch, and backward recomputes it.
template <class T>
__global__ void drop(MatrixSize size, bool aligned, MatrixRows<const T> from, MatrixRows<T> to,
                     Mask mask) {
  for_each_eight(size, aligned, [&](const EightCells& cells) {
    EightFloats numbers = cells.load(from);
    const auto& [row, column] = cells.first;
    const PhiloxStream random = mask.random[mask.utterances.of_row[row]];
    const auto frame = static_cast<std::uint32_t>(row - mask.utterances.begin(row));
    UNROLLED for (int first = 0; first < kEight; first += kGroup) {
      const PhiloxBlock bits = random(static_cast<std::uint32_t>((column + first) / kGroup), frame);
      UNROLLED for (int k = 0; k < kGroup; ++k) numbers.values[first + k] =
          bits[static_cast<std::size_t>(k)] < mask.limit ? 0.0f
                                                         : numbers.values[first + k] * mask.scale;
    }
    cells.store(numbers, to);
  });
}

/// Returns the key and the upper counter of each utterance's stream. The host hashes them, since
/// they are few.
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
  const UtterancesWorkspace room(scratch, mask.lengths);
  const Mask on_device{.random = random,
                       .utterances = upload_utterances(stream, mask.lengths, room),
                       .limit = static_cast<std::uint64_t>(mask.probability * 0x1p32),
                       .scale = static_cast<float>(1 / (1 - mask.probability))};
  const MatrixSize size{from.shape.at(0), from.shape.at(1)};
  if (from.size() == 0) return;
  with_type_of(from, operation, [&]<class T>(T) {
    const MatrixRows<const T> source = rows_of<T>(from, size.columns);
    const MatrixRows<T> target = rows_to<T>(to, size.columns);
    launch(stream.handle(), grid_of_eights(size), drop<T>, size,
           is_aligned(source) && is_aligned(target), source, target, on_device);
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
