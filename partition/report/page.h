#pragma once

#include <string_view>

namespace penstock::partition {

/// The report's page with places for {{style}}, {{script}} and {{data}}, and the first two, from
/// partition/report/page/.
std::string_view report_page();
std::string_view report_style();
std::string_view report_script();

}  // namespace penstock::partition
