#pragma once

#include <string_view>

namespace penstock::partition {

/// Return the report's page, with the places {{style}}, {{script}} and {{data}}, and its own texts
/// for the first two. They are built from partition/planner/report/page/.
std::string_view report_page();
std::string_view report_style();
std::string_view report_script();

/// Return the style and the script that all pages have before their own.
std::string_view shared_style();
std::string_view shared_script();

}  // namespace penstock::partition
