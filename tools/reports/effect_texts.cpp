#include "tools/reports/effect_texts.h"

#include <fmt/format.h>

namespace penstock::tools {
namespace {

/// Returns ranges for people: "3 to 12, 40". Those of no element are left out.
std::string ranges_text(const std::vector<runtime::FeatureMask>& masks) {
  std::string text;
  for (const runtime::FeatureMask& mask : masks) {
    if (mask.count == 0) continue;
    if (!text.empty()) text += ", ";
    text += mask.count == 1 ? fmt::format("{}", mask.first)
                            : fmt::format("{} to {}", mask.first, mask.first + mask.count - 1);
  }
  return text;
}

std::string noise_text(const std::string& name, const runtime::DrawnNoise& noise) {
  const runtime::AudioSource& source = noise.source;
  const double second = static_cast<double>(source.first.value_or(0) + noise.first) /
                        static_cast<double>(source.length.rate);
  return fmt::format("{} from {:.3g} s on, at {:.1f} dB SNR", name, second, noise.snr_db);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> effect_texts(
    const runtime::PreviewedUtterance& utterance, const configs::AugmentConfig& augment) {
  const auto& [audio, features] = utterance.effects;
  std::vector<std::pair<std::string, std::string>> texts;
  if (utterance.drawn.speed != 1)
    texts.emplace_back("speed", fmt::format("{:g}", utterance.drawn.speed));
  if (audio.room) texts.emplace_back("room", utterance.room);
  if (audio.noise) texts.emplace_back("noise", noise_text(utterance.noise, *audio.noise));
  if (audio.gain_db != 0) texts.emplace_back("gain", fmt::format("{:+.1f} dB", audio.gain_db));
  if (audio.codec) texts.emplace_back("codec", augment.codecs.at(*audio.codec));
  if (features.warp)
    texts.emplace_back("time warp",
                       fmt::format("frame {} to {}", features.warp->from, features.warp->to));
  for (const auto& [name, masks] : {std::pair("masked channels", &features.channels),
                                    std::pair("masked frames", &features.frames)})
    if (std::string ranges = ranges_text(*masks); !ranges.empty())
      texts.emplace_back(name, std::move(ranges));
  return texts;
}

}  // namespace penstock::tools
