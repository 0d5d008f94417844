#pragma once

#include <string_view>

namespace penstock::tools {

/// Return the body of the page of `penstock data preview`, with the place {{utterances}}, and its
/// own style and script. They are built from tools/reports/preview/.
std::string_view preview_page();
std::string_view preview_style();
std::string_view preview_script();

}  // namespace penstock::tools
