#pragma once

#include <vector>

#include "configs/config.h"

namespace penstock::configs {

/// An entry of augment.codecs: what an utterance passes on its way to the listener.
struct Codec {
  enum class Kind {
    mulaw,  // "g711-mulaw": ITU-T G.711 at 8 kHz, 64 kbit/s
    alaw,   // "g711-alaw"
    gsm,    // "gsm": GSM 06.10 full rate at 8 kHz, 13 kbit/s
    opus,   // "opus-KBITS", such as "opus-12"
    band,   // "band-LOW-HIGH", such as "band-300-3400"
  };
  Kind kind = Kind::mulaw;
  int kbits = 0;             // of opus, kbit/s
  double low = 0, high = 0;  // of a band, Hz
  bool operator==(const Codec&) const = default;
};

/// Parses augment.codecs, in its order. `sample_rate` bounds the bands. ConfigError names each
/// entry that is not a codec.
[[nodiscard]] std::vector<Codec> parse_codecs(const AugmentConfig& augment, int sample_rate);

}  // namespace penstock::configs
