#pragma once

#include <string_view>

namespace penstock::tools {

/// Return the page of `penstock data preview`, with the places {{style}}, {{script}}, {{data}} and
/// {{utterances}}, and its own texts for the first two. They are built from tools/reports/preview/.
std::string_view preview_page();
std::string_view preview_style();
std::string_view preview_script();

}  // namespace penstock::tools
