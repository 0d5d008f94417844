#pragma once

#include <string>
#include <string_view>

namespace penstock::partition {

/// The texts of one page, without those that all pages share. The title and the body are HTML.
struct PageTexts {
  std::string_view title, body, style, script;
};

/// Returns a page with its body, and with styles and scripts, shared ones first. Its place
/// {{data}}, after the body, and the body's own places stay.
[[nodiscard]] std::string assembled_page(const PageTexts& texts);

/// Replaces the first occurrence of a place, which the page must have. Call it last for a text that
/// may contain anything, also that of a place.
void fill_place(std::string& page, const std::string& place, std::string_view with);

/// Returns JSON for a script element. It has no "<", so no text in it ends the element, or opens a
/// comment in which the element's end tag is not seen.
[[nodiscard]] std::string json_in_html(std::string json);

}  // namespace penstock::partition
