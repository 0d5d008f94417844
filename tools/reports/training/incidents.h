#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::tools {

/// An event in the life of a supervised run, as incidents.jsonl records it. Texts may be "".
struct RunIncident {
  std::string time = {}, kind = {}, host = {}, message = {};
  std::int64_t step = 0;
  bool operator==(const RunIncident&) const = default;
};

/// Parses the text of an incidents.jsonl, or of its end. Lines that are no incidents are left out,
/// as they may be cut off at both ends.
[[nodiscard]] std::vector<RunIncident> parse_incidents(std::string_view text);

/// Returns a table of the newest incidents, at most 100, as HTML; "" if there are none.
[[nodiscard]] std::string incidents_html(const std::vector<RunIncident>& incidents);

}  // namespace penstock::tools
