#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// Returns the CRC-32C of some bytes (RFC 3720, B.4).
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

/// Returns a record of a TFRecord file, as TensorFlow's record_writer.cc frames it: the length of
/// `data` (8 bytes), its masked CRC (4), `data`, and its masked CRC (4).
[[nodiscard]] std::string framed(std::string_view data);

/// An EventMoment says when an event happened: seconds since 1970, and the training step.
struct EventMoment {
  double seconds = 0;
  std::int64_t step = 0;
};

/// A number that TensorBoard draws over the steps. Slashes in its tag make groups.
using EventScalar = std::pair<std::string, double>;

// Each function returns a message tensorflow.Event, of which a framed row is an event file.

/// Returns the event with which each file begins.
[[nodiscard]] std::string version_event(double seconds);
/// Returns the event that makes a reader drop what earlier files have of `moment.step` and later.
[[nodiscard]] std::string restart_event(EventMoment moment);
/// Returns an event with these numbers, which TensorBoard keeps in single precision.
[[nodiscard]] std::string scalar_event(EventMoment moment, const std::vector<EventScalar>& scalars);
/// Returns an event with text in Markdown.
[[nodiscard]] std::string text_event(EventMoment moment, std::string_view tag,
                                     std::string_view text);

}  // namespace penstock::runtime
