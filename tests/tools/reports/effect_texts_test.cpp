#include "tools/reports/effect_texts.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

TEST(EffectTexts, AreEmptyWithoutChanges) {
  EXPECT_EQ(effect_texts({}, {}), Texts());
  runtime::PreviewedUtterance utterance;
  utterance.effects.features = {.channels = {{3, 0}}, .frames = {{0, 0}, {7, 0}}};
  EXPECT_EQ(effect_texts(utterance, {}), Texts());
}

TEST(EffectTexts, HaveTheDrawnNumbersInOrder) {
  runtime::PreviewedUtterance utterance;
  utterance.drawn.speed = 1.1;
  utterance.room = "rooms/hall.wav";
  utterance.noise = "noises/street.wav";
  utterance.effects = {
      .audio = {.room = runtime::AudioSource{"rooms/hall.wav", {100, 8000}},
                .noise =
                    runtime::DrawnNoise{{"noises/street.wav", {9000, 8000}, 4000}, 16000, 12.34},
                .gain_db = -3.06,
                .codec = 1},
      .features = {.warp = runtime::TimeWarp{120, 124},
                   .channels = {{3, 10}, {5, 0}, {40, 1}},
                   .frames = {{0, 2}}}};
  EXPECT_EQ(effect_texts(utterance, {.codecs = {"gsm", "opus-12"}}),
            (Texts{{"speed", "1.1"},
                   {"room", "rooms/hall.wav"},
                   {"noise", "noises/street.wav from 2.5 s on, at 12.3 dB SNR"},
                   {"gain", "-3.1 dB"},
                   {"codec", "opus-12"},
                   {"time warp", "frame 120 to 124"},
                   {"masked channels", "3 to 12, 40"},
                   {"masked frames", "0 to 1"}}));
}

}  // namespace
}  // namespace penstock::tools
