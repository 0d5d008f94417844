#include "tools/gpu/facts/recurrence.h"

#include <algorithm>

#include "layers/cuda/recurrence/recurrence_sizes.h"

// A time step of a recurrence is a product with the recurrent weights and the gates, or one kernel
// that does both ("fused"). To split the time of a step, the same product is run alone, on operands
// of the same shapes. All utterances have the same length, so every step computes all of them.

namespace penstock::tools {
namespace {

using layers::DType;
using layers::cuda::Matrix;
using layers::cuda::Product;

constexpr std::int64_t kDirections = 2;
constexpr float kMaxWeight = 1.0F / 32;  // PyTorch's initial range for 1,024 hidden units
constexpr auto kKind = layers::RecurrenceKind::lstm;

}  // namespace

Recurrence::Recurrence(layers::Backend& backend, layers::CudaStream& stream,
                       const RecurrenceCase& of, const UtterancesOfFrames& size)
    : backend_(backend),
      stream_(stream),
      memory_(backend, stream),
      dtype_(of.dtype),
      hidden_(of.hidden),
      lengths_(static_cast<std::size_t>(size.utterances), size.frames) {
  // Shapes are those of layers::RecurrenceForward: p has the gates' inputs of both directions, w a
  // matrix for each direction, and y the sum of both directions' outputs.
  const std::int64_t frames = shape().frames(), gated = shape().gates() * hidden_;
  p_ = memory_.noise(dtype_, {frames, kDirections * gated});
  w_ = memory_.noise(dtype_, {kDirections, gated, hidden_}, kMaxWeight);
  b_ = memory_.noise(dtype_, {kDirections, gated}, kMaxWeight);
  y_ = memory_.noise(dtype_, {frames, hidden_}, kMaxWeight);
  h_ = memory_.noise(DType::f32, {kDirections, size.utterances, gated});
  u_ = memory_.zeros(DType::f32, {kDirections, size.utterances, gated});
  kept_ = {memory_.zeros(dtype_, {kDirections, frames, shape().kept() * hidden_}),
           memory_.zeros(dtype_, {kDirections, frames, hidden_}),
           memory_.zeros(dtype_, {kDirections, frames, hidden_})};
  const layers::Workspace bytes =
      layers::recurrence_workspace({layers::DeviceKind::cuda, dtype_}, shape());
  workspace_ = memory_.memory(std::max(bytes.forward, bytes.backward_input));
}

layers::RecurrenceShape Recurrence::shape() const {
  return {kKind, kDirections, hidden_, lengths_};
}

bool Recurrence::fused() const { return layers::cuda::is_fused(shape(), dtype_); }

void Recurrence::forward() const {
  backend_.run(stream_, layers::RecurrenceForward{shape(), p_, w_, b_, y_, kept_, workspace_});
}

/// Overwrites p with its gradient.
void Recurrence::backward() const {
  backend_.run(stream_,
               layers::RecurrenceBackwardInput{shape(), y_, w_, kept_, p_, {}, workspace_});
}

Matrix Recurrence::of_utterances(const layers::Tensor& tensor, std::int64_t width) const {
  const auto rows = static_cast<std::int64_t>(lengths_.size());
  return Matrix(tensor, 0, rows, width, width).each(rows * width);
}

Matrix Recurrence::of_weights() const {
  const std::int64_t gated = shape().gates() * hidden_;
  return Matrix(w_, 0, gated, hidden_, hidden_).each(gated * hidden_);
}

// Forward multiplies the hidden state, [utterances, hidden], by the weights. h_ is large enough for
// either product's input.
Product Recurrence::product_forward() const {
  const layers::Tensor h{h_.data, dtype_, {}};
  return {.a = of_utterances(h, hidden_),
          .b = of_weights(),
          .d = of_utterances(u_, shape().gates() * hidden_),
          .transpose_b = true,
          .batch = kDirections};
}

// Backward multiplies the gates' gradient by the weights, not transposed, and adds to what the
// state's gradient has already.
Product Recurrence::product_backward() const {
  const layers::Tensor g{h_.data, dtype_, {}};
  return {.a = of_utterances(g, shape().gates() * hidden_),
          .b = of_weights(),
          .d = of_utterances(u_, hidden_),
          .accumulate = true,
          .batch = kDirections};
}

}  // namespace penstock::tools
