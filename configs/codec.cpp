#include "configs/codec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace penstock::configs {
namespace {

// The bounds of Opus's bit rates, in kbit/s.
constexpr int kLeastKbits = 6, kMostKbits = 510;

/// Reads a number that is the whole text.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || read != end) return std::nullopt;
  return number;
}

std::optional<Codec> band_codec(std::string_view bounds, int sample_rate) {
  const std::size_t dash = bounds.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto low = whole_number<double>(bounds.substr(0, dash));
  const auto high = whole_number<double>(bounds.substr(dash + 1));
  if (!low || !high || !(*low >= 0 && *low < *high && *high <= sample_rate / 2.0))
    return std::nullopt;
  return Codec{.kind = Codec::Kind::band, .low = *low, .high = *high};
}

std::optional<Codec> parse_codec(std::string_view entry, int sample_rate) {
  constexpr std::string_view kOpus = "opus-", kBand = "band-";
  if (entry == "g711-mulaw") return Codec{.kind = Codec::Kind::mulaw};
  if (entry == "g711-alaw") return Codec{.kind = Codec::Kind::alaw};
  if (entry == "gsm") return Codec{.kind = Codec::Kind::gsm};
  if (entry.starts_with(kBand)) return band_codec(entry.substr(kBand.size()), sample_rate);
  if (!entry.starts_with(kOpus)) return std::nullopt;
  const auto kbits = whole_number<int>(entry.substr(kOpus.size()));
  if (!kbits || *kbits < kLeastKbits || *kbits > kMostKbits) return std::nullopt;
  return Codec{.kind = Codec::Kind::opus, .kbits = *kbits};
}

}  // namespace

std::vector<Codec> parse_codecs(const AugmentConfig& augment, int sample_rate) {
  std::vector<Codec> codecs;
  std::vector<std::string> faults;
  for (const std::string& entry : augment.codecs)
    if (const auto codec = parse_codec(entry, sample_rate))
      codecs.push_back(*codec);
    else
      faults.push_back(
          fmt::format("augment.codecs has \"{}\", expected g711-mulaw, g711-alaw, gsm, opus-KBITS "
                      "with {} to {} "
                      "kbit/s, such as opus-12, or band-LOW-HIGH in Hz up to {:g}, half of "
                      "features.sample_rate, such as band-300-3400",
                      entry, kLeastKbits, kMostKbits, sample_rate / 2.0));
  if (!faults.empty()) throw ConfigError(fmt::format("{}", fmt::join(faults, "\n")));
  return codecs;
}

}  // namespace penstock::configs
