#include "tests/support/runtime/sounds.h"

#include <sndfile.h>

#include <cmath>
#include <stdexcept>

namespace penstock::test {

std::vector<float> make_sound(std::int64_t samples, unsigned seed) {
  std::vector<float> sound(static_cast<std::size_t>(samples));
  for (std::size_t i = 0; i < sound.size(); ++i) {
    const double t = static_cast<double>(i);
    sound[i] = static_cast<float>(0.5 * std::sin(1e-5 * (3 + seed) * t * t + 0.01 * seed * t));
  }
  return sound;
}

bool write_sound(const std::filesystem::path& file, std::span<const float> samples,
                 const SoundFormat& format) {
  SF_INFO info = {};
  info.format = format.format;
  info.samplerate = format.rate;
  info.channels = format.channels;
  if (sf_format_check(&info) == 0) return false;
  SNDFILE* out = sf_open(file.c_str(), SFM_WRITE, &info);
  if (out == nullptr) throw std::runtime_error(file.string() + ": " + sf_strerror(nullptr));
  sf_writef_float(out, samples.data(), std::ssize(samples) / format.channels);
  sf_close(out);
  return true;
}

}  // namespace penstock::test
