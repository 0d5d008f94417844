#include "layers/cpu/convolution/conv2d_taps.h"

#include <algorithm>

namespace penstock::layers {

// analyse() transforms two rows at a time, so an odd number of rows gets one more without a frame.
Conv2dTaps::Conv2dTaps(const Conv2dGeometry& geometry, const Conv2dFold2d& fold, Order order,
                       Scratch& scratch)
    : geometry_(geometry), fold_(fold), order_(order) {
  outer_ = order == Order::in_out ? fold.channels : geometry.out_channels;
  inner_ = 8 * (order == Order::in_out ? fold.out_groups : fold.in_groups);
  frames_.assign(static_cast<std::size_t>((fold.time.taps + 1) / 2 * 2), -1);
  for (std::int64_t row = 0; row < fold.time.taps; ++row)
    frames_[static_cast<std::size_t>(row)] = row;
  numbers_ = scratch.take<float>(fold.time.taps * fold.frequency.taps * outer_ * inner_);
}

// Calls use(place here, place in the weight) for each number of the weight. Eight channels that are
// neighbours here go together, so that the weight is accessed as eight streams and not scattered.
template <class Use>
void Conv2dTaps::for_each(const Use& use) const {
  const Conv2dGeometry& g = geometry_;
  const std::int64_t sf = g.frequency.stride, st = g.time.stride;
  const std::int64_t kernel = g.frequency.kernel * g.time.kernel;
  const bool out_inside = order_ == Order::in_out;
  const std::int64_t inner_count = out_inside ? g.out_channels : g.in_channels;
  const std::int64_t outer_count = out_inside ? g.in_channels : g.out_channels;
  const std::int64_t inner_from = out_inside ? g.in_channels * kernel : kernel;
  const std::int64_t outer_from = out_inside ? kernel : g.in_channels * kernel;
  for (std::int64_t outer = 0; outer < outer_count; ++outer)
    for (std::int64_t first = 0; first < inner_count; first += 8)
      for (std::int64_t i = 0; i < g.frequency.kernel; ++i)
        for (std::int64_t j = 0; j < g.time.kernel; ++j) {
          const std::int64_t slot = j / st * fold_.frequency.taps + i / sf;
          const std::int64_t phase = (j % st * sf + i % sf) * g.in_channels;
          const std::int64_t to =
              slot * outer_ * inner_ + outer * inner_ + first + phase * (out_inside ? inner_ : 1);
          const std::int64_t from = outer * outer_from + first * inner_from + i * g.time.kernel + j;
          for (std::int64_t lane = 0; lane < std::min<std::int64_t>(8, inner_count - first); ++lane)
            use(to + lane, from + lane * inner_from);
        }
}

void Conv2dTaps::gather(const float* weight, float scale) {
  std::fill_n(numbers_, fold_.time.taps * fold_.frequency.taps * outer_ * inner_, 0.0f);
  for_each([&](std::int64_t to, std::int64_t from) { numbers_[to] = scale * weight[from]; });
}

void Conv2dTaps::add_to(float* weight, float scale) const {
  for_each([&](std::int64_t from, std::int64_t to) { weight[to] += scale * numbers_[from]; });
}

FoldedRows Conv2dTaps::rows() const {
  const std::int64_t width = outer_ * inner_, size = fold_.frequency.taps * width;
  return {.data = numbers_,
          .frame_size = size,
          .frames = frames_.data(),
          .phases = 1,
          .width = width,
          .limit = size};
}

}  // namespace penstock::layers
