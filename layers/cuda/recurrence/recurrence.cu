#include "layers/cuda/core/block.h"
#include "layers/cuda/core/cuda_backend.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/recurrence/recurrence_gates.h"
#include "layers/cuda/recurrence/recurrence_output.h"
#include "layers/cuda/recurrence/recurrence_steps.h"
#include "layers/ops/recurrence.h"

// Recurrences (tanh, GRU, LSTM) by kernels of our own; layers/ops/recurrence.h has the formulas. A
// step takes one frame of each utterance that has one left, in both directions. So frames are
// neither padded nor copied into another order, and backward keeps nothing opaque. Weight gradients
// are products over all frames, with sums in FP32. For few utterances a step is one kernel
// (fused_recurrence.h). For many it is a product of cuBLASLt and a kernel for the gates.
//
// cuDNN's recurrences do not serve here, because they include the product with the input. Their
// mode without it, CUDNN_SKIP_INPUT, adds the same `hidden` numbers to every gate and direction,
// but here each gate has its own. A constant selection matrix as input weight would cost a product
// gates · directions times as large as U. Nor could a plan then cut the model between the
// projection and the recurrence.

namespace penstock::layers {
namespace cuda {
namespace {

constexpr int kChannelsOfBlock = 128;

/// Returns a grid with a row of blocks, over the channels, for each active utterance of each
/// direction. Threads thus find their place without a division, which would take longer than their
/// arithmetic.
Grid over_channels(const RecurrenceStep& at, std::int64_t directions) {
  return {dim3(static_cast<unsigned>(directions * at.active),
               static_cast<unsigned>((at.hidden + kChannelsOfBlock - 1) / kChannelsOfBlock)),
          dim3(kChannelsOfBlock)};
}

/// Returns the thread's channel, which may lie after the last one.
__device__ inline RecurrenceChannel channel_of_thread(const RecurrenceStep& at) {
  const std::int64_t row = block_x();
  const int direction = row < at.active ? 0 : 1;
  return {direction, row - direction * at.active, block_y() * kChannelsOfBlock + thread_x()};
}

/// Computes the gates of a step after the product U h. One thread for each channel.
template <class T, class Gates>
__global__ void gates_forward(ForwardStep<T> io, const float* u_DNG) {
  const RecurrenceChannel of = channel_of_thread(io.at);
  if (of.channel >= io.at.hidden) return;
  const float* const products =
      u_DNG + RecurrencePlace(io.at, of.direction, of.rank, of.channel).product;
  float u[Gates::kCount];
  UNROLLED for (int gate = 0; gate < Gates::kCount; ++gate) u[gate] = products[gate * io.at.hidden];
  advance<T, Gates>(io, of, u);
}

/// Differentiates the gates of a step. One thread for each channel.
template <class T, class Gates>
__global__ void gates_backward(BackwardStep<T> io) {
  const RecurrenceChannel of = channel_of_thread(io.at);
  if (of.channel >= io.at.hidden) return;
  Gates::backward(io, RecurrencePlace(io.at, of.direction, of.rank, of.channel));
}

/// Adds the second direction's output at the frame where the two directions of an utterance meet.
/// One thread for each channel of an utterance; an utterance with an even number of frames has no
/// such frame.
template <class T>
__global__ void add_middles(ForwardStep<T> io) {
  const RecurrenceChannel of = channel_of_thread(io.at);
  if (of.channel >= io.at.hidden) return;
  const std::int64_t first = io.at.row(0, of.rank), last = io.at.row(1, of.rank);
  if ((last - first) % 2 != 0) return;
  T& y = io.y_FH[(first + last) / 2 * io.at.hidden + of.channel];
  y = from_float<T>(to_float(y) + to_float(io.middles_NH[of.rank * io.at.hidden + of.channel]));
}

/// Returns states of a step's active utterances, or other numbers of theirs, as one matrix for each
/// direction.
Matrix of_active(void* data, DType dtype, const RecurrenceStep& at, std::int64_t width) {
  return Matrix({data, dtype, {}}, 0, at.active, width, width).each(at.utterances * width);
}

Matrix of_weights(const Tensor& w_DGH, const RecurrenceStep& at) {
  const std::int64_t gated = at.gates * at.hidden;
  return Matrix(w_DGH, 0, gated, at.hidden, at.hidden).each(gated * at.hidden);
}

template <class T>
T* data_or_null(const Tensor& tensor) {
  return tensor.data == nullptr ? nullptr : data_of<T>(tensor);
}

template <class T>
void forward_by_products(CudaStream& stream, Products& products, const RecurrenceForward& op,
                         const RecurrenceSteps& steps, const RecurrenceForwardWorkspace& room,
                         ForwardStep<T> io) {
  with_gates_of<T>(op.shape.kind, [&]<class Gates>() {
    for (std::int64_t step = 0; step < steps.count(); ++step) {
      io.at = steps[step];
      if (step > 0)
        products.run(stream, {.a = of_active(io.next_DNH, op.p_FP.dtype, io.at, io.at.state_width),
                              .b = of_weights(op.w_DGH, io.at),
                              .d = of_active(room.u_DNG, DType::f32, io.at, io.at.product_width),
                              .transpose_b = true,
                              .batch = io.at.directions});
      launch(stream.handle(), over_channels(io.at, io.at.directions), gates_forward<T, Gates>, io,
             room.u_DNG);
    }
  });
}

template <class T>
void backward_by_products(CudaStream& stream, Products& products, const RecurrenceBackwardInput& op,
                          const RecurrenceSteps& steps, const RecurrenceBackwardWorkspace& room,
                          BackwardStep<T> io) {
  with_gates_of<T>(op.shape.kind, [&]<class Gates>() {
    for (std::int64_t step = steps.count() - 1; step >= 0; --step) {
      io.at = steps[step];
      launch(stream.handle(), over_channels(io.at, io.at.directions), gates_backward<T, Gates>, io);
      if (step > 0)
        products.run(stream, {.a = of_active(io.g_DNG, op.dy_FH.dtype, io.at, io.at.product_width),
                              .b = of_weights(op.w_DGH, io.at),
                              .d = of_active(room.dh_DNH, DType::f32, io.at, io.at.state_width),
                              .accumulate = true,
                              .batch = io.at.directions});
    }
  });
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const RecurrenceForward& op) {
  if (op.y_FH.size() == 0) return;
  auto& own = static_cast<CudaStream&>(stream);
  const DType dtype = op.p_FP.dtype;
  Scratch scratch(op.workspace);
  const cuda::RecurrenceForwardWorkspace room(scratch, op.shape, dtype);
  const cuda::RecurrenceSteps steps(own, op.shape, room.sizes, room.first_rows_DN);
  zero(stream, room.states_BDNH, room.zeroed);
  cuda::with_type_of(op.p_FP, "RecurrenceForward", [&]<class T>(T) {
    cuda::ForwardStep<T> io{.at = steps[0],
                            .p_FP = cuda::data_of<T>(op.p_FP),
                            .b_DG = cuda::data_of<T>(op.b_DG),
                            .states_DNH = reinterpret_cast<T*>(room.states_BDNH),
                            .next_DNH = reinterpret_cast<T*>(room.states_BDNH),
                            .cells_DNH = room.cells_DNH,
                            .kept_DFK = cuda::data_or_null<T>(op.kept.kept_DFK),
                            .previous_DFH = cuda::data_or_null<T>(op.kept.previous_DFH),
                            .cell_DFH = cuda::data_or_null<T>(op.kept.cell_DFH),
                            .y_FH = cuda::data_of<T>(op.y_FH),
                            .middles_NH = reinterpret_cast<T*>(room.middles_NH)};
    if (room.sizes.fused)
      cuda::fused_forward(own, op, steps, room, io, fp32_products_);
    else
      cuda::forward_by_products(own, products_, op, steps, room, io);
    if (op.shape.directions == 2)
      cuda::launch(own.handle(), cuda::over_channels(io.at, 1), cuda::add_middles<T>, io);
  });
}

template <>
void CudaBackend::compute(Stream& stream, const RecurrenceBackwardInput& op) {
  if (op.dy_FH.size() == 0) return;
  auto& own = static_cast<CudaStream&>(stream);
  const DType dtype = op.dy_FH.dtype;
  Scratch scratch(op.workspace);
  const cuda::RecurrenceBackwardWorkspace room(scratch, op.shape, dtype);
  const cuda::RecurrenceSteps steps(own, op.shape, room.sizes, room.first_rows_DN);
  zero(stream, room.dh_DNH, room.zeroed);
  cuda::with_type_of(op.dy_FH, "RecurrenceBackwardInput", [&]<class T>(T) {
    const cuda::BackwardStep<T> io{.at = steps[0],
                                   .dy_FH = cuda::data_of<T>(op.dy_FH),
                                   .kept_DFK = cuda::data_of<T>(op.kept.kept_DFK),
                                   .previous_DFH = cuda::data_of<T>(op.kept.previous_DFH),
                                   .cell_DFH = cuda::data_or_null<T>(op.kept.cell_DFH),
                                   .dh_DNH = room.dh_DNH,
                                   .ds_DNH = room.ds_DNH,
                                   .dp_FP = cuda::data_of<T>(op.dp_FP),
                                   .dn_DFH = cuda::data_or_null<T>(op.dn_DFH),
                                   .g_DNG = reinterpret_cast<T*>(room.g_BDNG)};
    if (room.sizes.fused)
      cuda::fused_backward(own, op, steps, room, io, fp32_products_);
    else
      cuda::backward_by_products(own, products_, op, steps, room, io);
  });
}

}  // namespace penstock::layers
