#include <type_traits>

#include "layers/cuda/core/launch.h"
#include "layers/cuda/recurrence/recurrence_gates.h"
#include "layers/cuda/recurrence/recurrence_output.h"
#include "layers/cuda/recurrence/recurrence_products.h"
#include "layers/cuda/recurrence/recurrence_steps.h"

// U is the same in all steps, so it is packed once: into tiles of 16 channels, in the order in
// which a block reads them. Each step is then one launch with a block per tile, direction and some
// utterances. Backward goes through the steps in reverse with Uᵀ, packed likewise.
//
// Utterances are sorted by falling length, so the `active` ones of a step come first, and later
// steps launch fewer blocks. For up to 8 of them a block has one tile of utterances. For more it
// has as many as its registers hold, since each block reads its tile of U again.

namespace penstock::layers::cuda {
namespace {

/// The tile of channels, direction and first utterance that a block owns. Blocks of one direction
/// are adjacent in x; utterances are divided along y.
struct BlockOfStep {
  std::int64_t tile, first_utterance;
  int direction;

  __device__ BlockOfStep(std::int64_t tiles, int tiles_of_utterances)
      : tile(block_x() % tiles),
        first_utterance(block_y() * tiles_of_utterances * kRecurrenceUtterances),
        direction(static_cast<int>(block_x() / tiles)) {}

  template <class Factor>
  __device__ const Factor* factor(const PackedFactor& of, std::int64_t tiles,
                                  const Factor* packed) const {
    return packed + (direction * tiles + tile) * of.numbers_of_tile();
  }
  template <class T>
  __device__ InnerRows<T> rows(const RecurrenceStep& at, const T* of_DN, std::int64_t width) const {
    return {of_DN + (direction * at.utterances + first_utterance) * width, width};
  }
  /// Returns one of the block's channels of one of its utterances. It may not exist: see
  /// is_there().
  __device__ RecurrenceChannel channel(int utterance, int channel) const {
    return {direction, first_utterance + utterance, tile * kRecurrenceChannels + channel};
  }
};

__device__ inline bool is_there(const RecurrenceStep& at, const RecurrenceChannel& of) {
  return of.rank < at.active && of.channel < at.hidden;
}

/// One step forward in time: multiplies U by h for the block's channels and utterances, and
/// computes their gates.
template <class T, class Factor, class Gates, int kTiles>
__global__ void __launch_bounds__(kRecurrenceThreads, 2)
    step_forward(ForwardStep<T> io, PackedFactor factor, std::int64_t tiles, const Factor* packed) {
  const BlockOfStep block(tiles, kTiles);
  SlicedSums<Factor, Gates::kCount, kTiles> sums;
  if (io.at.step > 0)  // h is 0 before the first step
    sums.add(block.factor(factor, tiles, packed),
             block.rows(io.at, io.states_DNH, io.at.state_width));
  for_each_sum(sums, [&](int utterance, int channel, const auto& u) {
    const RecurrenceChannel of = block.channel(utterance, channel);
    if (is_there(io.at, of)) advance<T, Gates>(io, of, u);
  });
}

/// One step backward in time: adds Uᵀ · `next_g_DNG` to the gradient of h, and differentiates the
/// gates.
/// `next_g_DNG` holds the gradients of U h + c of the step that follows in time. It is 0 after the
/// last frame of an utterance.
template <class T, class Factor, class Gates, int kTiles>
__global__ void __launch_bounds__(kRecurrenceThreads, 2)
    step_backward(BackwardStep<T> io, PackedFactor factor, std::int64_t tiles, const Factor* packed,
                  const T* next_g_DNG) {
  const BlockOfStep block(tiles, kTiles);
  SlicedSums<Factor, 1, kTiles> sums;
  sums.add(block.factor(factor, tiles, packed), block.rows(io.at, next_g_DNG, io.at.product_width));
  for_each_sum(sums, [&](int utterance, int channel, const auto& through_u) {
    const RecurrenceChannel of = block.channel(utterance, channel);
    if (!is_there(io.at, of)) return;
    const RecurrencePlace place(io.at, of.direction, of.rank, of.channel);
    io.dh_DNH[place.state] += through_u[0];
    Gates::backward(io, place);
  });
}

/// Calls run.operator()<kTiles>(grid) with the number of utterance tiles that a step's blocks have.
template <class T, class Run>
void with_grid_of(const RecurrenceStep& at, const PackedFactor& factor, const Run& run) {
  const auto grid = [&](int tiles) {
    const std::int64_t utterances = tiles * kRecurrenceUtterances;
    return Grid{dim3(static_cast<unsigned>(factor.directions * factor.tiles()),
                     static_cast<unsigned>((at.active + utterances - 1) / utterances)),
                dim3(kRecurrenceThreads)};
  };
  constexpr int kMax = std::is_same_v<T, float> ? kMaxTilesInFp32 : kMaxTiles;
  if (at.active <= kRecurrenceUtterances)
    run.template operator()<1>(grid(1));
  else
    run.template operator()<kMax>(grid(kMax));
}

/// Two buffers of `numbers` numbers each, which steps use alternately.
template <class T>
struct Buffers {
  T* first;
  std::int64_t numbers;
  T* operator[](std::int64_t step) const { return first + step % 2 * numbers; }
};

template <class Factor, class T>
void run_forward(CudaStream& stream, const RecurrenceForward& op, const RecurrenceSteps& steps,
                 const RecurrenceForwardWorkspace& room, ForwardStep<T> io) {
  const Buffers<T> states{reinterpret_cast<T*>(room.states_BDNH), room.sizes.states()};
  auto* const u = reinterpret_cast<Factor*>(room.packed);
  const PackedFactor factor = pack_forward(stream.handle(), data_of<T>(op.w_DGH), room.sizes,
                                           static_cast<int>(op.shape.gates()), u);
  with_gates_of<T>(op.shape.kind, [&]<class Gates>() {
    for (std::int64_t step = 0; step < steps.count(); ++step) {
      io.at = steps[step];
      io.states_DNH = states[step];
      io.next_DNH = states[step + 1];
      with_grid_of<T>(io.at, factor, [&]<int kTiles>(const Grid& grid) {
        launch(stream.handle(), grid, step_forward<T, Factor, Gates, kTiles>, io, factor,
               factor.tiles(), u);
      });
    }
  });
}

template <class Factor, class T>
void run_backward(CudaStream& stream, const RecurrenceBackwardInput& op,
                  const RecurrenceSteps& steps, const RecurrenceBackwardWorkspace& room,
                  BackwardStep<T> io) {
  const Buffers<T> gradients{reinterpret_cast<T*>(room.g_BDNG), room.sizes.products()};
  auto* const ut = reinterpret_cast<Factor*>(room.packed);
  const PackedFactor factor = pack_backward(stream.handle(), data_of<T>(op.w_DGH), room.sizes,
                                            static_cast<int>(op.shape.gates()), ut);
  with_gates_of<T>(op.shape.kind, [&]<class Gates>() {
    for (std::int64_t step = steps.count() - 1; step >= 0; --step) {
      io.at = steps[step];
      io.g_DNG = gradients[step];
      with_grid_of<T>(io.at, factor, [&]<int kTiles>(const Grid& grid) {
        launch(stream.handle(), grid, step_backward<T, Factor, Gates, kTiles>, io, factor,
               factor.tiles(), ut, gradients[step + 1]);
      });
    }
  });
}

/// Calls run.operator()<Factor>() with the type that U has in products with numbers of type T: Tf32
/// for floats if TF32 is allowed, else T.
template <class T, class Run>
void with_factor_of(Fp32Products products, const Run& run) {
  if constexpr (std::is_same_v<T, float>)
    if (products == Fp32Products::tf32) return run.template operator()<Tf32>();
  run.template operator()<T>();
}

}  // namespace

template <class T>
void fused_forward(CudaStream& stream, const RecurrenceForward& op, const RecurrenceSteps& steps,
                   const RecurrenceForwardWorkspace& room, const ForwardStep<T>& io,
                   Fp32Products products) {
  with_factor_of<T>(products,
                    [&]<class Factor>() { run_forward<Factor>(stream, op, steps, room, io); });
}

template <class T>
void fused_backward(CudaStream& stream, const RecurrenceBackwardInput& op,
                    const RecurrenceSteps& steps, const RecurrenceBackwardWorkspace& room,
                    const BackwardStep<T>& io, Fp32Products products) {
  with_factor_of<T>(products,
                    [&]<class Factor>() { run_backward<Factor>(stream, op, steps, room, io); });
}

#define FUSED(T)                                                                             \
  template void fused_forward(CudaStream&, const RecurrenceForward&, const RecurrenceSteps&, \
                              const RecurrenceForwardWorkspace&, const ForwardStep<T>&,      \
                              Fp32Products);                                                 \
  template void fused_backward(CudaStream&, const RecurrenceBackwardInput&,                  \
                               const RecurrenceSteps&, const RecurrenceBackwardWorkspace&,   \
                               const BackwardStep<T>&, Fp32Products)
FUSED(float);
FUSED(__half);
FUSED(__nv_bfloat16);
#undef FUSED

}  // namespace penstock::layers::cuda
