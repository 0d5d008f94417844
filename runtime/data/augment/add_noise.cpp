#include "runtime/data/augment/add_noise.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/quantities.h"

namespace penstock::runtime {

double energy(std::span<const float> x) {
  double sum = 0;
  for (const float sample : x) sum += static_cast<double>(sample) * sample;
  return sum;
}

void add_noise(std::span<float> samples, std::span<const float> noise, double snr_db) {
  if (samples.size() != noise.size())
    throw ShapeError(
        fmt::format("{} get noise of {}", counted(samples.size(), "sample"), noise.size()));
  const double speech = energy(samples), added = energy(noise);
  if (!(speech > 0) || !(added > 0)) return;
  const double scale = std::sqrt(speech / added) * std::pow(10, -snr_db / 20);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(samples[i] + scale * noise[i]);
}

void apply_gain(std::span<float> samples, double gain_db) {
  const double factor = std::pow(10, gain_db / 20);
  for (float& sample : samples) sample = static_cast<float>(factor * sample);
}

}  // namespace penstock::runtime
