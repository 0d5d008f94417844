#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "configs/config.h"

namespace penstock::runtime {

/// The loss scale: a factor that keeps gradients in fp16 from vanishing and overflowing. It changes
/// once per step, by one of three rules:
///   static   constant
///   backoff  starts at 2^14; halves on overflow, down to 1; doubles after 2,000 steps without, up
///            to 2^14 (OpenSeq2Seq's BackoffScaler)
///   logmax   starts at 1; with x = log2 of the largest unscaled gradient (16 if not finite), μ the
///            running mean of x (β 0.99) and σ its deviation (β 0.999), both bias-corrected:
///            2^(16 − (μ + 3.09 σ)), within 1 … 2^14 (OpenSeq2Seq's LogMaxScaler)
/// In fp32 and bf16 it is 1.
class LossScale {
 public:
  using Numbers = std::map<std::string, double>;

  explicit LossScale(const configs::PrecisionConfig& config);

  double value() const { return scale_; }
  /// True if update() reads its second argument.
  bool wants_largest() const { return rule_ == Rule::logmax; }
  /// Updates the scale after a step. `overflowed` is true if a gradient was not finite. `largest`
  /// is the largest magnitude of the unscaled gradients.
  void update(bool overflowed, double largest);

  /// Returns all numbers that a resumed run needs. They are finite; there are none if the scale is
  /// constant.
  Numbers state() const;
  /// Restores the result of state(). Numbers that are missing stay unchanged.
  void restore(const Numbers& state);

 private:
  enum class Rule { none, backoff, logmax };

  void back_off(bool overflowed);
  void follow(double x);

  Rule rule_ = Rule::none;
  double scale_ = 1;
  double clean_steps_ = 0;                                 // used by backoff
  double updates_ = 0, mean_ = 0, slow_ = 0, square_ = 0;  // used by logmax, not bias-corrected
};

}  // namespace penstock::runtime
