#pragma once

#include <string_view>

namespace penstock::tools {

/// Return the body of a sweep's page, with the place {{sections}}, and what it adds to the style of
/// `penstock report`, and its script. They are built from tools/sweep/page/.
std::string_view sweep_body();
std::string_view sweep_style();
std::string_view sweep_script();

}  // namespace penstock::tools
