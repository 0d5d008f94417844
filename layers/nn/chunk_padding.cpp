#include "layers/nn/chunk_padding.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "layers/backend.h"
#include "layers/tensor_views.h"

// A model that pads its last chunk with silence computes with those frames. Only those that a
// convolution's window can reach from a frame of the utterance make a difference, so no others are
// appended.

namespace penstock::layers {
namespace {

void copy_rows(Context& context, const Tensor& from, const Tensor& to) {
  context.backend.copy(context.stream, to.data, from.data, to.bytes());
}

}  // namespace

ChunkPadding::ChunkPadding(ChunkPaddingOptions options) : options_(std::move(options)) {
  if (options_.chunk < 1 || options_.multiple < 1)
    throw ShapeError(
        fmt::format("{} pads chunks of {} frames to a multiple of {}; both must be 1 or more",
                    name(), options_.chunk, options_.multiple));
}

std::int64_t ChunkPadding::padded(std::int64_t frames) const {
  const std::int64_t last = frames % options_.chunk, multiple = options_.multiple;
  return frames - last + std::min((last + multiple - 1) / multiple * multiple, options_.chunk);
}

LayerPlan ChunkPadding::plan(const ActivationDecl& input, const BackendSizes&) const {
  const FramesDecl& x = input.only();
  std::vector<std::int64_t> lengths = x.lengths;
  for (std::int64_t& frames : lengths) frames = padded(frames);
  LayerPlan plan;
  plan.output = {input.dtype, {{std::move(lengths), x.channels}}};
  const auto all = static_cast<double>(element_count(plan.output.only().shape()));
  plan.flops = {all, all, 0};
  plan.chunk = options_.chunk;
  return plan;
}

void ChunkPadding::forward(Context& context, const Params&, const Activation& x, Activation& y,
                           Saved) const {
  const Tensor &x_FC = x.only().x_FC, &y_FC = y.only().x_FC;
  std::int64_t from = 0, to = 0;
  for (const std::int64_t frames : context.lengths) {
    copy_rows(context, rows(x_FC, from, frames), rows(y_FC, to, frames));
    const Tensor zeros = rows(y_FC, to + frames, padded(frames) - frames);
    if (zeros.shape[0] > 0) context.backend.zero(context.stream, zeros.data, zeros.bytes());
    from += frames;
    to += padded(frames);
  }
}

void ChunkPadding::backward_input(Context& context, const Params&, const Activation& dy, Saved,
                                  Activation& dx) const {
  if (dx.empty()) return;
  std::int64_t from = 0, to = 0;
  for (const std::int64_t frames : context.lengths) {
    copy_rows(context, rows(dy.only().x_FC, to, frames), rows(dx.only().x_FC, from, frames));
    from += frames;
    to += padded(frames);
  }
}

}  // namespace penstock::layers
