#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "configs/config.h"

namespace penstock::runtime {

/// The factor by which a loss is multiplied so that its gradients, in fp16, neither vanish nor
/// overflow. It moves once a step, by one of three rules:
///   static   stays
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
  /// Whether update() reads its second argument.
  bool wants_largest() const { return rule_ == Rule::logmax; }
  /// `overflowed`: a gradient was not finite. `largest` magnitude of the unscaled gradients.
  void update(bool overflowed, double largest);

  /// All that a resumed run needs, finite; empty where the scale never moves.
  Numbers state() const;
  /// Takes what state() gave; missing numbers stay as they are.
  void restore(const Numbers& state);

 private:
  enum class Rule { none, backoff, logmax };

  void back_off(bool overflowed);
  void follow(double x);

  Rule rule_ = Rule::none;
  double scale_ = 1;
  double clean_steps_ = 0;                                 // of backoff
  double updates_ = 0, mean_ = 0, slow_ = 0, square_ = 0;  // of logmax, not yet bias-corrected
};

}  // namespace penstock::runtime
