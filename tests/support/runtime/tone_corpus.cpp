#include "tests/support/runtime/tone_corpus.h"

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "tests/support/runtime/sounds.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::test {
namespace {

constexpr int kRate = 8000;
constexpr std::array<double, 4> kHertz = {400, 800, 1400, 2300};  // of a, b, c, d

void append_tone(double hertz, std::size_t samples, std::vector<float>& sound) {
  const double turn = 2 * std::numbers::pi;
  for (std::size_t i = 0; i < samples; ++i) {
    const double fade = 0.5 - 0.5 * std::cos(turn * i / samples);
    sound.push_back(static_cast<float>(0.4 * fade * std::sin(turn * hertz * i / kRate)));
  }
  sound.resize(sound.size() + kRate / 32);  // silence
}

}  // namespace

void write_tone_corpus(const std::filesystem::path& manifest, int utterances, unsigned seed) {
  std::mt19937 random(seed);
  std::string lines;
  for (int u = 0; u < utterances; ++u) {
    std::string text;
    std::vector<float> sound;
    for (std::size_t letters = 2 + random() % 4; letters > 0; --letters) {
      const std::size_t letter = random() % kHertz.size();
      text += static_cast<char>('a' + letter);
      append_tone(kHertz[letter], 700 + random() % 300, sound);
    }
    const std::string name = manifest.stem().string() + "-" + std::to_string(u) + ".wav";
    write_sound(manifest.parent_path() / name, sound, {0x010002, kRate});
    lines += R"({"audio_filepath": ")" + name + R"(", "text": ")" + text + "\"}\n";
  }
  write_file(manifest, lines);
}

std::string tone_recipe(const std::filesystem::path& train, const std::filesystem::path& validation,
                        const std::filesystem::path& output) {
  return R"([model]
features = 41
channels = 2
hidden = 12
layers = 2
dropout = 0.1
[text]
alphabet = "abcd"
[features]
sample_rate = 8000
window_ms = 10
hop_ms = 5
[optimizer]
learning_rate = 0.01
[data]
micro_batch_seconds = 2.5
speeds = [0.9, 1, 1.1]
train = ")" +
         train.string() + "\"\nvalidation = \"" + validation.string() +
         "\"\n[trainer]\nsteps = 20\nlanes = 2\noutput = \"" + output.string() + "\"\n";
}

}  // namespace penstock::test
