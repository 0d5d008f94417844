#pragma once

#include <string_view>

namespace penstock::partition {

/// Return the body of the report's page, and its own style and script. They are built from
/// partition/planner/report/page/.
std::string_view report_page();
std::string_view report_style();
std::string_view report_script();

/// Return what all pages share: the page around their bodies, with the places {{title}}, {{style}},
/// {{body}}, {{data}} and {{script}}, and the style and the script before their own.
std::string_view shared_page();
std::string_view shared_style();
std::string_view shared_script();

}  // namespace penstock::partition
