#pragma once

#include <set>
#include <string>
#include <vector>

namespace penstock::runtime {

/// Returns the shortest ends of names, of whole parts between dots, that choose the names `chosen`
/// and no others of `all`, sorted: "q_proj" for all names that end with ".q_proj". PEFT's
/// target_modules are such ends.
[[nodiscard]] std::vector<std::string> module_suffixes(const std::set<std::string>& chosen,
                                                       const std::vector<std::string>& all);

}  // namespace penstock::runtime
