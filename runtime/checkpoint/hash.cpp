#include "runtime/checkpoint/hash.h"

#include <xxhash.h>

#include <new>

namespace penstock::runtime {

// The sums must lie on a 64-byte boundary, which XXH3_createState() ensures.
struct Xxh3::State {
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> sums{XXH3_createState(),
                                                                       XXH3_freeState};
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) {
  if (state_->sums == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_->sums.get());
}

Xxh3::~Xxh3() = default;
Xxh3::Xxh3(Xxh3&&) noexcept = default;

void Xxh3::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(state_->sums.get(), bytes.data(), bytes.size());
}

// The canonical form is big-endian on every machine, so that files can move between machines.
std::string Xxh3::digest() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(state_->sums.get()));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : canonical.digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string xxh3_128(std::span<const std::byte> bytes) {
  Xxh3 hash;
  hash.add(bytes);
  return hash.digest();
}

std::string xxh3_128(std::string_view text) { return xxh3_128(std::as_bytes(std::span(text))); }

}  // namespace penstock::runtime
