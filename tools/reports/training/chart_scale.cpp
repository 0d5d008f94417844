#include "tools/reports/training/chart_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "base/quantities.h"

// A tick is a whole multiple of its step, so that its text has few digits: it is computed as a
// whole number times the step, never by adding steps up. The number of decimals follows from the
// step, and is the same for all ticks of an axis.

namespace penstock::tools {
namespace {

constexpr double kSlack = 1e-9;        // share of a step by which rounding may miss a tick
constexpr double kHasExponent = 1e12;  // least size of ticks that are written with an exponent

/// Returns the power of ten of a positive number's first digit.
int decimal_exponent(double size) {
  const int exponent = static_cast<int>(std::floor(std::log10(size)));
  return size < std::pow(10, exponent) ? exponent - 1 : exponent;  // log10() rounds
}

/// Formats whole numbers with commas, or in millions; others with the decimals of `step`; very
/// small and very large ones as recipes write them, "5e-5".
std::string tick_text(double value, double step, double most) {
  if (value == 0) return "0";
  if (most < 1e-3 || most >= kHasExponent) {
    const int exponent = decimal_exponent(std::abs(value) * (1 + kSlack));
    return fmt::format("{:.4g}e{}", value / std::pow(10, exponent), exponent);
  }
  if (step >= 1e4 && most >= 1e6) return fmt::format("{:.10g} M", std::round(value / 1e4) / 100);
  if (step >= 1) return number_text(value);
  return fmt::format("{:.{}f}", value, -decimal_exponent(step * (1 + kSlack)));
}

/// Whole multiples of a step.
struct Multiples {
  std::int64_t first = 0, last = 0;
};

/// Returns the multiples of `step` from `least` to `most`.
Multiples multiples_within(double least, double most, double step) {
  return {static_cast<std::int64_t>(std::ceil(least / step - kSlack)),
          static_cast<std::int64_t>(std::floor(most / step + kSlack))};
}

/// Returns the fewest multiples of `step` that enclose `least` and `most`.
Multiples multiples_around(double least, double most, double step) {
  return {static_cast<std::int64_t>(std::floor(least / step + kSlack)),
          static_cast<std::int64_t>(std::ceil(most / step - kSlack))};
}

std::vector<Tick> ticks_at(Multiples of, double step) {
  const double most = step * static_cast<double>(std::max(std::abs(of.first), std::abs(of.last)));
  std::vector<Tick> ticks;
  for (std::int64_t n = of.first; n <= of.last; ++n) {
    const double value = static_cast<double>(n) * step;
    ticks.push_back({value, tick_text(value, step, most)});
  }
  return ticks;
}

/// Returns all numbers from `least` to `most` that are a power of ten times one of `digits`.
std::vector<double> sizes_between(double least, double most, std::initializer_list<int> digits) {
  std::vector<double> sizes;
  for (int exponent = decimal_exponent(least); exponent <= decimal_exponent(most); ++exponent)
    for (const int digit : digits) {
      const double size = digit * std::pow(10, exponent);
      if (size >= least * (1 - kSlack) && size <= most * (1 + kSlack)) sizes.push_back(size);
    }
  return sizes;
}

/// Returns the narrowest range of an axis with values of a size. Ticks of a narrower one have more
/// digits than fit beside a chart.
double narrowest_range(double size) {
  if (size < 1e-3 || size >= kHasExponent) return size / 100;
  double least = size < 1 ? 5e-6 : 0;
  if (size >= 1e7) least = size < 1e9 ? 5e4 : 5e5;
  return std::max(size / 1e4, least);
}

/// Returns the greatest number that is 1, 2 or 5 times a power of ten, and not above `size`.
double round_size_below(double size) {
  const double power = std::pow(10, decimal_exponent(size));
  for (const int digit : {5, 2})
    if (digit * power <= size * (1 + kSlack)) return digit * power;
  return power;
}

}  // namespace

double round_size(double size) {
  const double power = std::pow(10, decimal_exponent(size));
  for (const int digit : {1, 2, 5})
    if (digit * power >= size * (1 - kSlack)) return digit * power;
  return 10 * power;
}

ChartScale ChartScale::linear(double least, double most, int ticks) {
  const double size = std::max(std::abs(least), std::abs(most));
  if (size < kLeastShown) {
    least = 0;
    most = 1;
  } else if (const double narrowest = narrowest_range(size);
             least == most || most - least < narrowest) {
    const double room = least == most ? size / 10 : (narrowest - (most - least)) / 2;
    least -= room;
    most += room;
  }
  const double step = round_size((most - least) / ticks);
  ChartScale scale;
  const Multiples ends = multiples_around(least, most, step);
  scale.least_ = static_cast<double>(ends.first) * step;
  scale.most_ = static_cast<double>(ends.last) * step;
  scale.ticks_ = ticks_at(ends, step);
  return scale;
}

ChartScale ChartScale::of_steps(double first, double last, int ticks) {
  ChartScale scale;
  scale.least_ = first;
  scale.most_ = std::max(last, first + std::max(1.0, first / 1e12));
  const double step = std::max(1.0, round_size((scale.most_ - scale.least_) / ticks));
  scale.ticks_ = ticks_at(multiples_within(scale.least_, scale.most_, step), step);
  return scale;
}

ChartScale ChartScale::logarithmic(double least, double most, int ticks) {
  ChartScale scale;
  scale.logarithmic_ = true;
  scale.least_ = round_size_below(least);
  scale.most_ = round_size(most);
  if (scale.least_ == scale.most_) scale.most_ = round_size(1.5 * scale.most_);
  const auto most_ticks = static_cast<std::size_t>(ticks) + 1;
  std::vector<double> values = sizes_between(scale.least_, scale.most_, {1, 2, 5});
  if (values.size() > most_ticks) {
    scale.least_ = std::pow(10, decimal_exponent(scale.least_));
    scale.most_ = std::pow(10, std::ceil(std::log10(scale.most_) - kSlack));
    values = sizes_between(scale.least_, scale.most_, {1});
  }
  const std::size_t every = (values.size() + most_ticks - 1) / most_ticks;
  for (std::size_t i = 0; i < values.size(); i += every)
    scale.ticks_.push_back({values[i], tick_text(values[i], values[i], values[i])});
  return scale;
}

double ChartScale::place(double value) const {
  const double inside = std::clamp(value, least_, most_);
  if (!logarithmic_) return (inside - least_) / (most_ - least_);
  // A ratio of both ends may overflow, unlike a difference of logarithms.
  return (std::log(inside) - std::log(least_)) / (std::log(most_) - std::log(least_));
}

}  // namespace penstock::tools
