#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "runtime/pipeline/step_work.h"

namespace penstock::runtime {

/// Features that can be read only once. With post-validation they are kept until it is certain that
/// the step is not repeated.
class KeptFeatures {
 public:
  KeptFeatures(ReadFeatures read, bool keep) : read_(std::move(read)), keeps_(keep) {}

  /// Declares that the step will not be repeated. Drops the kept features and stops keeping new
  /// ones.
  void let_go() {
    keeps_ = false;
    kept_.clear();
  }
  /// Declares that the step is repeated. The reader returns the kept features in order, then reads
  /// on.
  void again() {
    keeps_ = false;
    next_ = 0;
  }

  /// Returns an empty function if there is nothing to read.
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
