#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace penstock::runtime {

/// XXH3 of bytes that come in pieces.
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

/// The same of a whole at once.
[[nodiscard]] std::uint64_t hash_of(std::string_view bytes);

}  // namespace penstock::runtime
