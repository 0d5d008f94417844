#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace penstock::layers {

/// A block of 128 bits as four words, the least significant first.
using PhiloxBlock = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011): 128 random bits that depend on key and counter alone, the same on every device.
constexpr PhiloxBlock philox(PhiloxBlock counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9e3779b9u, key[1] + 0xbb67ae85u};
  }
  return counter;
}

constexpr std::uint32_t low_word(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
constexpr std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

/// Returns the FNV-1a hash of a layer's or parameter's name, as a word of a key.
constexpr std::uint32_t hash_of_name(std::string_view name) {
  std::uint32_t hash = 2166136261u;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

/// A stream of random blocks, indexed by two numbers such as frame and group of four channels. It
/// has an identity with more bits than a key has: the identity is hashed to 128 bits, of which half
/// are the key and half the upper counter.
struct PhiloxStream {
  PhiloxBlock identity = {};

  constexpr PhiloxBlock operator()(std::uint32_t x, std::uint32_t y) const {
    return philox({x, y, identity[2], identity[3]}, {identity[0], identity[1]});
  }
};

/// Returns the stream of `seed` and an identity of 128 bits.
constexpr PhiloxStream philox_stream(std::uint64_t seed, PhiloxBlock whose) {
  return {philox(whose, {low_word(seed), high_word(seed)})};
}

}  // namespace penstock::layers
