#pragma once

#include <string_view>

namespace penstock::partition {

/// Return the report's page, with the places {{style}}, {{script}} and {{data}}, and the texts for
/// the first two. They are built from partition/planner/report/page/.
std::string_view report_page();
std::string_view report_style();
std::string_view report_script();

}  // namespace penstock::partition
