#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "base/packing.h"
#include "comm/collectives.h"
#include "runtime/text/error_rate.h"

namespace penstock::runtime {

/// Packs an optional number of eight bytes.
template <class Number>
void pack(const std::optional<Number>& number, Packer& message) {
  message.add(std::int64_t{number.has_value()});
  if (number) message.add(std::bit_cast<std::int64_t>(*number));
}
template <class Number>
std::optional<Number> unpack_optional(Unpacker& from) {
  if (from.number() == 0) return std::nullopt;
  return std::bit_cast<Number>(from.number());
}

/// Packs counts of errors.
inline void pack(const ErrorCount& errors, Packer& message) {
  for (const EditCount& count : {errors.words, errors.characters}) {
    message.add(count.edits);
    message.add(count.reference);
  }
}
inline ErrorCount unpack_errors(Unpacker& from) {
  ErrorCount errors;
  for (EditCount* count : {&errors.words, &errors.characters}) {
    count->edits = from.number();
    count->reference = from.number();
  }
  return errors;
}

/// Returns the packed data of all ranks, in the order of the ranks. Collective: every rank calls
/// it.
inline std::string gather_to_all(comm::Communicator& ranks, const Packer& own) {
  std::string all;
  for (const std::string& of_rank : comm::gather(ranks, own.bytes())) all += of_rank;
  return comm::broadcast(ranks, all);
}

}  // namespace penstock::runtime
