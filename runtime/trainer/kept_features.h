#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// Features that can be read once only, kept while it is open whether the step begins again.
class KeptFeatures {
 public:
  KeptFeatures(ReadFeatures read, bool keep) : read_(std::move(read)), keeps_(keep) {}

  /// The step goes on to its end: what is read from now on is not kept, nor what has been.
  void let_go() {
    keeps_ = false;
    kept_.clear();
  }
  /// The step begins again: reads what was kept, in its order, then goes on.
  void again() {
    keeps_ = false;
    next_ = 0;
  }

  /// Empty where there is nothing to read.
  ReadFeatures reader() {
    if (!read_) return {};
    return [this](int micro_batch, std::span<float> x_FC, std::span<float> weights) {
      if (!keeps_ && next_ < kept_.size()) return give(kept_[next_++], x_FC, weights);
      read_(micro_batch, x_FC, weights);
      if (keeps_) kept_.push_back({{x_FC.begin(), x_FC.end()}, {weights.begin(), weights.end()}});
    };
  }

 private:
  struct Batch {
    std::vector<float> x_FC, weights;
  };
  static void give(Batch& batch, std::span<float> x_FC, std::span<float> weights) {
    std::ranges::copy(batch.x_FC, x_FC.begin());
    std::ranges::copy(batch.weights, weights.begin());
    batch = {};
  }

  ReadFeatures read_;
  bool keeps_;
  std::vector<Batch> kept_;
  std::size_t next_ = 0;
};

}  // namespace penstock::runtime
