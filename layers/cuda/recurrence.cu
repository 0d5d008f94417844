#include <vector>

#include "layers/cuda/block.h"
#include "layers/cuda/cuda_backend.h"
#include "layers/cuda/launch.h"
#include "layers/cuda/recurrence_gates.h"
#include "layers/cuda/sizes/recurrence.h"
#include "layers/ops/frame_order.h"
#include "layers/ops/recurrence.h"

// Why not cuDNN's recurrences: they include the product with the input. Their one mode without it,
// CUDNN_SKIP_INPUT, adds the same `hidden` numbers to every gate and direction, where here each has
// its own; and fed with the projections through a constant selection matrix, they would multiply by
// one gates · directions times as large as U. Taking the projection in would leave no place for a
// cut between it and the recurrence, which plans have. A step here is one product of cuBLASLt for
// both directions, over the utterances that have a frame left, and one kernel for the gates: no
// padding, no copy into another order of frames, nothing opaque to keep for backward, and weight
// gradients are one product over all frames, in FP32, whenever they are asked for.

namespace penstock::layers {
namespace cuda {
namespace {

/// The frames of two directions are added. A frame is met twice, and whoever comes second adds; in
/// the middle of an utterance both come at once, to this thread, which has them both.
template <class T>
__device__ void leave_output(const ForwardStep<T>& io, const RecurrencePlace (&places)[2],
                             const T (&h)[2]) {
  if (io.at.directions == 1) {
    io.y_FH[places[0].output] = h[0];
  } else if (places[0].row == places[1].row) {
    io.y_FH[places[0].output] = from_float<T>(to_float(h[0]) + to_float(h[1]));
  } else {
    const bool second = places[0].row > places[1].row;
    for (int d = 0; d < 2; ++d) {
      T& y = io.y_FH[places[d].output];
      y = second ? from_float<T>(to_float(y) + to_float(h[d])) : h[d];
    }
  }
}

/// One thread for each channel of each active utterance.
template <class T, class Gates>
__global__ void step_forward(ForwardStep<T> io) {
  const std::int64_t i = grid_thread();
  if (i >= io.at.active * io.at.hidden) return;
  const std::int64_t rank = i / io.at.hidden, channel = i % io.at.hidden;
  const int last = io.at.directions - 1;
  const RecurrencePlace places[2] = {{io.at, 0, rank, channel}, {io.at, last, rank, channel}};
  T h[2];
  for (int d = 0; d < 2; ++d) {  // unrolled, so that the places stay in registers
    if (d > last) break;
    h[d] = from_float<T>(Gates::forward(io, places[d]));
    T& state = io.states_DNH[places[d].state];
    if (io.previous_DFH != nullptr) io.previous_DFH[places[d].frame] = state;
    state = h[d];
  }
  leave_output(io, places, h);
}

/// One thread for each channel of each active utterance and direction.
template <class T, class Gates>
__global__ void step_backward(BackwardStep<T> io) {
  const std::int64_t i = grid_thread(), width = io.at.active * io.at.hidden;
  if (i >= io.at.directions * width) return;
  const int direction = static_cast<int>(i / width);
  Gates::backward(io,
                  RecurrencePlace(io.at, direction, i % width / io.at.hidden, i % io.at.hidden));
}

/// The frames of a micro-batch, step by step.
class Steps {
 public:
  Steps(CudaStream& stream, const RecurrenceShape& shape, std::int64_t* first_rows_DN)
      : order_(shape.lengths, false) {
    const FrameOrder back(shape.lengths, true);
    std::vector<std::int64_t> first_rows;
    for (std::int64_t d = 0; d < shape.directions; ++d)
      for (std::int64_t rank = 0; rank < order_.active(0); ++rank)
        first_rows.push_back((d == 0 ? order_ : back).row(0, rank));
    stream.copy_in(first_rows_DN, first_rows.data(), first_rows.size() * sizeof(std::int64_t));
    at_ = {.first_rows_DN = first_rows_DN,
           .frames = shape.frames(),
           .utterances = order_.active(0),
           .hidden = shape.hidden,
           .directions = static_cast<int>(shape.directions),
           .gates = static_cast<int>(shape.gates()),
           .kept = static_cast<int>(shape.kept())};
  }

  std::int64_t count() const { return order_.steps(); }
  RecurrenceStep operator[](std::int64_t step) const {
    RecurrenceStep at = at_;
    at.step = step;
    at.active = order_.active(step);
    return at;
  }

 private:
  FrameOrder order_;
  RecurrenceStep at_;
};

/// The states of a step's utterances, or what belongs to them: for each direction a matrix.
Matrix of_active(void* data, DType dtype, const RecurrenceStep& at, std::int64_t width) {
  return Matrix({data, dtype, {}}, 0, at.active, width, width).each(at.utterances * width);
}

Matrix of_weights(const Tensor& w_DGH, const RecurrenceStep& at) {
  const std::int64_t gated = at.gates * at.hidden;
  return Matrix(w_DGH, 0, gated, at.hidden, at.hidden).each(gated * at.hidden);
}

}  // namespace
}  // namespace cuda

template <>
void CudaBackend::compute(Stream& stream, const RecurrenceForward& op) {
  if (op.y_FH.size() == 0) return;
  auto& own = static_cast<CudaStream&>(stream);
  const DType dtype = op.p_FP.dtype;
  Scratch scratch(op.workspace);
  const cuda::RecurrenceForwardRoom room(scratch, op.shape, dtype);
  const cuda::Steps steps(own, op.shape, room.first_rows_DN);
  zero(stream, room.states_DNH, room.zeroed);
  cuda::with_type_of(op.p_FP, "RecurrenceForward", [&]<class T>(T) {
    const auto kept = [](const Tensor& tensor) {
      return tensor.data == nullptr ? nullptr : cuda::data_of<T>(tensor);
    };
    cuda::ForwardStep<T> io{.at = {},
                            .p_FP = cuda::data_of<T>(op.p_FP),
                            .b_DG = cuda::data_of<T>(op.b_DG),
                            .u_DNG = room.u_DNG,
                            .states_DNH = reinterpret_cast<T*>(room.states_DNH),
                            .cells_DNH = room.cells_DNH,
                            .kept_DFK = kept(op.kept.kept_DFK),
                            .previous_DFH = kept(op.kept.previous_DFH),
                            .cell_DFH = kept(op.kept.cell_DFH),
                            .y_FH = cuda::data_of<T>(op.y_FH)};
    cuda::with_gates_of<T>(op.shape.kind, [&]<class Gates>() {
      for (std::int64_t step = 0; step < steps.count(); ++step) {
        io.at = steps[step];
        const std::int64_t gated = io.at.gates * io.at.hidden;
        if (step > 0)
          products_.run(own, {.a = cuda::of_active(room.states_DNH, dtype, io.at, io.at.hidden),
                              .b = cuda::of_weights(op.w_DGH, io.at),
                              .d = cuda::of_active(room.u_DNG, DType::f32, io.at, gated),
                              .transpose_b = true,
                              .batch = io.at.directions});
        cuda::launch(own.handle(), cuda::grid_over(io.at.active * io.at.hidden),
                     cuda::step_forward<T, Gates>, io);
      }
    });
  });
}

template <>
void CudaBackend::compute(Stream& stream, const RecurrenceBackwardInput& op) {
  if (op.dy_FH.size() == 0) return;
  auto& own = static_cast<CudaStream&>(stream);
  const DType dtype = op.dy_FH.dtype;
  Scratch scratch(op.workspace);
  const cuda::RecurrenceBackwardRoom room(scratch, op.shape, dtype);
  const cuda::Steps steps(own, op.shape, room.first_rows_DN);
  zero(stream, room.dh_DNH, room.zeroed);
  cuda::with_type_of(op.dy_FH, "RecurrenceBackwardInput", [&]<class T>(T) {
    const auto of_kind = [](const Tensor& tensor) {
      return tensor.data == nullptr ? nullptr : cuda::data_of<T>(tensor);
    };
    cuda::BackwardStep<T> io{.at = {},
                             .dy_FH = cuda::data_of<T>(op.dy_FH),
                             .kept_DFK = cuda::data_of<T>(op.kept.kept_DFK),
                             .previous_DFH = cuda::data_of<T>(op.kept.previous_DFH),
                             .cell_DFH = of_kind(op.kept.cell_DFH),
                             .dh_DNH = room.dh_DNH,
                             .ds_DNH = room.ds_DNH,
                             .dp_FP = cuda::data_of<T>(op.dp_FP),
                             .dn_DFH = of_kind(op.dn_DFH),
                             .g_DNG = reinterpret_cast<T*>(room.g_DNG)};
    cuda::with_gates_of<T>(op.shape.kind, [&]<class Gates>() {
      for (std::int64_t step = steps.count() - 1; step >= 0; --step) {
        io.at = steps[step];
        const std::int64_t gated = io.at.gates * io.at.hidden;
        cuda::launch(own.handle(), cuda::grid_over(io.at.directions * io.at.active * io.at.hidden),
                     cuda::step_backward<T, Gates>, io);
        if (step > 0)
          products_.run(own, {.a = cuda::of_active(room.g_DNG, dtype, io.at, gated),
                              .b = cuda::of_weights(op.w_DGH, io.at),
                              .d = cuda::of_active(room.dh_DNH, DType::f32, io.at, io.at.hidden),
                              .accumulate = true,
                              .batch = io.at.directions});
      }
    });
  });
}

}  // namespace penstock::layers
