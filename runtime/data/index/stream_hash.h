#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace penstock::runtime {

/// Computes the XXH3 hash of bytes that arrive in pieces.
class StreamHash {
 public:
  StreamHash();
  StreamHash(StreamHash&&) noexcept;
  ~StreamHash();

  void add(std::string_view bytes);
  [[nodiscard]] std::uint64_t digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the XXH3 hash of bytes that are all present.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

}  // namespace penstock::runtime
