#pragma once

#include <string>
#include <vector>

namespace penstock::tools {

/// Numbers of a lesser size are 0 on an axis.
inline constexpr double kLeastShown = 1e-300;

/// A mark of an axis, with its text.
struct Tick {
  double value = 0;
  std::string label;
  bool operator==(const Tick&) const = default;
};

/// An axis of a chart: which values it spans, and its ticks.
class ChartScale {
 public:
  /// Returns an axis of equal steps with at most `ticks` + 1 ticks, which are multiples of 1, 2 or
  /// 5 times a power of ten. The ends are ticks too. Values that nearly agree get an axis that is
  /// wide enough for short texts. The sizes of both values must be at most 1e300.
  static ChartScale linear(double least, double most, int ticks);
  /// Returns the same for whole numbers, with ends that stay as they are.
  static ChartScale of_steps(double first, double last, int ticks);
  /// Returns an axis of equal ratios with at most `ticks` + 1 ticks. Ends and ticks are 1, 2 or 5
  /// times a power of ten or, if these are too many, powers of ten. Both values are at least
  /// kLeastShown.
  static ChartScale logarithmic(double least, double most, int ticks);

  double least() const { return least_; }
  double most() const { return most_; }
  bool is_logarithmic() const { return logarithmic_; }
  const std::vector<Tick>& ticks() const { return ticks_; }
  /// Returns the place of a value: 0 at the least one, 1 at the greatest. A value outside is
  /// placed at the nearer end.
  double place(double value) const;

 private:
  double least_ = 0, most_ = 1;
  bool logarithmic_ = false;
  std::vector<Tick> ticks_;
};

/// Returns the least number that is 1, 2 or 5 times a power of ten, and not below `size`, which is
/// positive.
[[nodiscard]] double round_size(double size);

}  // namespace penstock::tools
