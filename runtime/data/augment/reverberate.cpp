#include "runtime/data/augment/reverberate.h"

#include <algorithm>
#include <cmath>

#include "runtime/data/augment/add_noise.h"
#include "runtime/data/augment/convolve.h"

namespace penstock::runtime {

void reverberate(std::span<float> samples, std::span<const float> response) {
  const double before = energy(samples);
  if (!(before > 0) || !(energy(response) > 0)) return;
  const auto direct =
      std::ranges::max_element(response, {}, [](const float tap) { return std::abs(tap); });
  const std::vector<float> heard = convolve(samples, response, direct - response.begin());
  const double after = energy(heard);
  if (!(after > 0)) return;
  const double scale = std::sqrt(before / after);
  std::ranges::transform(heard, samples.begin(),
                         [&](const float x) { return static_cast<float>(scale * x); });
}

}  // namespace penstock::runtime
