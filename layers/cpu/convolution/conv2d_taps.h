#pragma once

#include <cstdint>
#include <vector>

#include "layers/cpu/convolution/conv2d_fold.h"
#include "layers/cpu/convolution/conv2d_spectrum.h"
#include "layers/scratch.h"

namespace penstock::layers {

/// The weight of a convolution as rows of slots, like the frames. There is one row for each tap of
/// the folded kernel over time, and in it one slot for each tap over frequency. A slot is a matrix
/// of channels, whose inner side is padded to groups of 8.
class Conv2dTaps {
 public:
  enum class Order { in_out, out_in };  // the inner channels last

  Conv2dTaps(const Conv2dGeometry& geometry, const Conv2dFold2d& fold, Order order,
             Scratch& scratch);

  /// Copies the weight [out, in, frequency, time] times `scale`; other numbers become 0.
  void gather(const float* weight, float scale);
  /// Adds the numbers, times `scale`, to the places of `weight` that gather() reads.
  void add_to(float* weight, float scale) const;

  FoldedRows rows() const;
  std::int64_t row_count() const { return static_cast<std::int64_t>(frames_.size()); }
  std::int64_t outer() const { return outer_; }
  std::int64_t inner_groups() const { return inner_ / 8; }
  std::int64_t groups() const { return outer_ * inner_ / 8; }

 private:
  template <class Use>
  void for_each(const Use& use) const;

  const Conv2dGeometry& geometry_;
  const Conv2dFold2d& fold_;
  Order order_;
  std::int64_t outer_, inner_;
  std::vector<std::int64_t> frames_;
  float* numbers_;
};

}  // namespace penstock::layers
