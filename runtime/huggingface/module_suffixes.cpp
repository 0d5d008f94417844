#include "runtime/huggingface/module_suffixes.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace penstock::runtime {
namespace {

/// True if a name is `end`, or ends with it after a dot.
bool ends_with_parts(std::string_view name, std::string_view end) {
  return name.ends_with(end) &&
         (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
}

}  // namespace

std::vector<std::string> module_suffixes(const std::set<std::string>& chosen,
                                         const std::vector<std::string>& all) {
  std::set<std::string> ends;
  for (const std::string& name : chosen) {
    std::size_t dot = name.rfind('.');
    std::string end = name.substr(dot == std::string::npos ? 0 : dot + 1);
    const auto chooses_another = [&](const std::string& other) {
      return ends_with_parts(other, end) && !chosen.contains(other);
    };
    while (end != name && std::ranges::any_of(all, chooses_another)) {
      dot = name.rfind('.', dot - 1);
      end = name.substr(dot == std::string::npos ? 0 : dot + 1);
    }
    ends.insert(end);
  }
  return {ends.begin(), ends.end()};
}

}  // namespace penstock::runtime
