#include "runtime/data/index/stream_hash.h"

#include <xxhash.h>

namespace penstock::runtime {

struct StreamHash::State {
  XXH3_state_t* const xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

StreamHash::StreamHash() : state_(std::make_unique<State>()) { XXH3_64bits_reset(state_->xxh); }
StreamHash::StreamHash(StreamHash&&) noexcept = default;
StreamHash::~StreamHash() = default;

void StreamHash::add(std::string_view bytes) {
  XXH3_64bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::uint64_t StreamHash::digest() const { return XXH3_64bits_digest(state_->xxh); }

std::uint64_t hash_of(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace penstock::runtime
