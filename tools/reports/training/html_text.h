#pragma once

#include <string>
#include <string_view>

namespace penstock::tools {

/// Returns a text for HTML, within elements and within attributes that are quoted by ". Bytes that
/// are not UTF-8 become U+FFFD, and control characters that HTML forbids do too. The text has no
/// "{", so it holds none of a page's places, such as {{data}}.
[[nodiscard]] std::string html_text(std::string_view text);

}  // namespace penstock::tools
