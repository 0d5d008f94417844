#pragma once

#include <string_view>

namespace penstock::tools {

/// Return the body of the page of `penstock report`, with the place {{sections}}, and its own style
/// and script. They are built from tools/reports/training/page/.
std::string_view training_page();
std::string_view training_style();
std::string_view training_script();

}  // namespace penstock::tools
