#pragma once

#include <cstdint>
#include <initializer_list>

namespace penstock::runtime {

/// The purpose of a random number. Numbers with the same key but different purposes are
/// independent.
enum class SampleKind : std::uint64_t {
  speed = 1,
  length_jitter,
  order,
  lane,
  validation,
  permutation,
  augment,
  room,
  noise,
  gain,
  codec
};

/// Returns 64 random bits that depend on (kind, seed, numbers) alone, the same on every machine.
/// Applies SplitMix64's finaliser (Steele, Lea and Flood, 2014) to the numbers one after another.
constexpr std::uint64_t sample_hash(SampleKind kind, std::uint64_t seed,
                                    std::initializer_list<std::uint64_t> numbers) {
  const auto mixed = [](std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  std::uint64_t state = mixed(mixed(static_cast<std::uint64_t>(kind)) ^ seed);
  for (const std::uint64_t number : numbers) state = mixed(state ^ number);
  return state;
}

}  // namespace penstock::runtime
