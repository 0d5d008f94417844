#include "layers/nn/recurrence.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/widened.h"

// The layer wraps the operations of layers/ops/recurrence.h. The product with the input is a Linear
// layer before it, so a plan can cut the model between the two. Forward saves the activated gates
// and the states before each frame, so backward repeats no product. backward_input walks back
// through the frames and leaves dp, the gradient of the projection, which is carried: it is also
// the input's gradient. All weight gradients follow from dp and the saved states by products over
// all frames at once.
//
// Time is frames · directions · gates · hidden² multiply-adds for each pass. For each frame
// and direction, (kept() + 1) · hidden numbers are saved, and `hidden` more for a GRU or an LSTM.

namespace penstock::layers {
namespace {

// Places in LayerPlan::saved. kExtra is the cell state of an LSTM, or the gradient of U_n h + c_n
// of a GRU; a tanh recurrence has none.
enum RecurrenceSaved { kGates, kPrevious, kInputGradient, kExtra };

/// Returns the tensors that forward fills for backward; none in evaluation.
RecurrenceKept kept_in(RecurrenceKind kind, Saved saved) {
  if (saved.empty()) return {};
  return {.kept_DFK = saved[kGates],
          .previous_DFH = saved[kPrevious],
          .cell_DFH = kind == RecurrenceKind::lstm ? saved[kExtra] : Tensor{}};
}

/// Returns the gradient of U_n h + c_n. In a GRU it is not that of p_n, since r lies between them;
/// in the other kinds, one gradient serves both.
Tensor recurrent_gradient_in(RecurrenceKind kind, Saved saved) {
  return kind == RecurrenceKind::gru ? saved[kExtra] : Tensor{};
}

}  // namespace

Recurrence::Recurrence(RecurrenceOptions options) : options_(std::move(options)) {
  if (options_.directions < 1 || options_.directions > 2 || options_.hidden < 1)
    throw ShapeError(
        fmt::format("recurrence {} has {} directions and {} hidden channels, expected 1 or 2 "
                    "directions and at least 1 channel",
                    options_.name, options_.directions, options_.hidden));
}

RecurrenceShape Recurrence::shape(std::span<const std::int64_t> lengths) const {
  return {options_.kind, options_.directions, options_.hidden, lengths};
}

// Returns the memory for FP32 copies on the CPU, operand by operand as layers/ops/recurrence.h
// lists what each operation reads and writes.
Workspace Recurrence::copies(const BackendSizes& sizes, const RecurrenceShape& shape) const {
  const std::int64_t D = shape.directions, H = shape.hidden, G = shape.gates() * H,
                     states = D * shape.frames() * H, kept = states * shape.kept(),
                     cell = shape.kind == RecurrenceKind::lstm ? states : 0,
                     recurrent = shape.kind == RecurrenceKind::gru ? states : 0,
                     p = shape.frames() * D * G, y = shape.frames() * H;
  return {widened(sizes, {p, D * G * H, D * G, y, kept, states, cell}),
          widened(sizes, {y, D * G * H, kept, states, cell, p, recurrent}),
          widened(sizes, {states, p, recurrent})};
}

LayerPlan Recurrence::plan(const ActivationDecl& input, const BackendSizes& sizes) const {
  const FramesDecl& p = input.only();
  const RecurrenceShape shape = this->shape(p.lengths);
  const auto& [name, kind, directions, hidden] = options_;
  const std::int64_t gated = shape.gates() * hidden, frames = shape.frames();
  if (p.channels != directions * gated)
    throw ShapeError(
        fmt::format("recurrence {} was given {} channels, expected directions × gates × hidden = "
                    "{} from its input projection",
                    name, p.channels, directions * gated));

  const Initialiser start{Initialiser::Kind::uniform, 1 / std::sqrt(static_cast<double>(hidden))};
  const auto own = [&](Life life, std::int64_t channels) {
    return SavedDecl{SavedDecl::Kind::own, life, sizes.compute, {directions, frames, channels}};
  };
  LayerPlan plan;
  plan.output = {input.dtype, {{p.lengths, hidden}}};
  plan.params = {{name + ".weight", {directions, gated, hidden}, start},
                 {name + ".bias", {directions, gated}, start}};
  plan.saved = {own(Life::to_backward_input, shape.kept() * hidden),
                own(Life::to_backward_weight, hidden),
                {.kind = SavedDecl::Kind::input_gradient, .life = Life::carried}};
  if (kind == RecurrenceKind::lstm) plan.saved.push_back(own(Life::to_backward_input, hidden));
  if (kind == RecurrenceKind::gru) plan.saved.push_back(own(Life::carried, hidden));
  plan.workspace = recurrence_workspace(sizes, shape);
  add_copies(plan.workspace, copies(sizes, shape));
  const double product = 2.0 * static_cast<double>(frames * directions * gated * hidden);
  plan.flops = {product, product, product};
  plan.work = Work::recurrence;
  return plan;
}

void Recurrence::forward(Context& context, const Params& params, const Activation& x, Activation& y,
                         Saved saved) const {
  context.backend.run(context.stream, RecurrenceForward{.shape = shape(x.only().lengths),
                                                        .p_FP = x.only().x_FC,
                                                        .w_DGH = params.weights[0],
                                                        .b_DG = params.weights[1],
                                                        .y_FH = y.only().x_FC,
                                                        .kept = kept_in(options_.kind, saved),
                                                        .workspace = context.workspace});
}

// Computes the gradient of the input even if no layer before this one needs it: the gradients of
// the weights follow from it.
void Recurrence::backward_input(Context& context, const Params& params, const Activation& dy,
                                Saved saved, Activation&) const {
  context.backend.run(context.stream,
                      RecurrenceBackwardInput{.shape = shape(dy.only().lengths),
                                              .dy_FH = dy.only().x_FC,
                                              .w_DGH = params.weights[0],
                                              .kept = kept_in(options_.kind, saved),
                                              .dp_FP = saved[kInputGradient],
                                              .dn_DFH = recurrent_gradient_in(options_.kind, saved),
                                              .workspace = context.workspace});
}

// The order of frames does not matter here: dU is the sum of dp · h^T over them, with the state h
// before each. So no lengths are given.
void Recurrence::backward_weight(Context& context, Saved saved, Grads grads) const {
  context.backend.run(context.stream, RecurrenceBackwardWeight{
                                          .shape = shape({}),
                                          .previous_DFH = saved[kPrevious],
                                          .dp_FP = saved[kInputGradient],
                                          .dn_DFH = recurrent_gradient_in(options_.kind, saved),
                                          .dw_DGH = grads[0],
                                          .db_DG = grads[1]});
}

}  // namespace penstock::layers
