#pragma once

#include <set>
#include <string>
#include <vector>

namespace penstock::runtime {

/// Returns few patterns (see matches_glob()) that match the names `chosen` and no others of `all`,
/// sorted: "block*.attention.qkv" if the layers of all blocks are chosen, "output.*" if all
/// parameters of `output` are.
[[nodiscard]] std::vector<std::string> name_patterns(const std::set<std::string>& chosen,
                                                     const std::vector<std::string>& all);

}  // namespace penstock::runtime
