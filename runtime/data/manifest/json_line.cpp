#include "runtime/data/manifest/json_line.h"

#include <fmt/format.h>

#include "base/json_nesting.h"

namespace penstock::runtime {

bool is_flat_json(const ManifestReading& reading, const std::string& line,
                  const std::string& where) {
  if (!json_nests_too_deeply(line)) return true;
  reading.faults.add(where, fmt::format("nests deeper than {}", kDeepestNesting));
  return false;
}

// The message is "[json.exception.…] parse error at line 1, column 7: …"; its line is always 1.
void note_bad_json(const ManifestReading& reading, const std::string& where,
                   const std::string& what) {
  const std::size_t column = what.find("column");
  reading.faults.add(where,
                     "bad JSON: " + (column == std::string::npos ? what : what.substr(column)));
}

}  // namespace penstock::runtime
