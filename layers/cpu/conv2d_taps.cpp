#include "layers/cpu/conv2d_taps.h"

#include <algorithm>

namespace penstock {

Conv2dTaps::Conv2dTaps(const Conv2dGeometry& geometry, const Conv2dFold2d& fold, Order order,
                       Scratch& scratch)
    : geometry_(geometry), fold_(fold), order_(order) {
  outer_ = order == Order::in_out ? fold.channels : geometry.out_channels;
  inner_ = 8 * (order == Order::in_out ? fold.out_octets : fold.in_octets);
  frames_.assign(static_cast<std::size_t>((fold.time.taps + 1) / 2 * 2), -1);
  for (std::int64_t row = 0; row < fold.time.taps; ++row)
    frames_[static_cast<std::size_t>(row)] = row;
  numbers_ = scratch.take<float>(fold.time.taps * fold.frequency.taps * outer_ * inner_);
}

// Calls use(place here, place in the weight) for each number of the weight.
template <class Use>
void Conv2dTaps::for_each(const Use& use) const {
  const Conv2dGeometry& g = geometry_;
  const std::int64_t sf = g.frequency.stride, st = g.time.stride, channels = g.in_channels;
  const std::int64_t outer_step = order_ == Order::in_out ? inner_ : 1;
  const std::int64_t inner_step = order_ == Order::in_out ? 1 : inner_;
  std::int64_t from = 0;
  for (std::int64_t o = 0; o < g.out_channels; ++o)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < g.frequency.kernel; ++i)
        for (std::int64_t j = 0; j < g.time.kernel; ++j, ++from) {
          const std::int64_t folded = (j % st * sf + i % sf) * channels + c;
          const std::int64_t slot = j / st * fold_.frequency.taps + i / sf;
          use(slot * outer_ * inner_ + folded * outer_step + o * inner_step, from);
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

}  // namespace penstock
