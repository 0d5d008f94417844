#include "partition/planner/report/html_page.h"

#include "partition/planner/report/page.h"

namespace penstock::partition {

void fill_place(std::string& page, const std::string& place, std::string_view with) {
  page.replace(page.find(place), place.size(), with);
}

// The body comes last, as it may contain anything.
std::string assembled_page(const PageTexts& texts) {
  std::string page(shared_page());
  fill_place(page, "{{title}}", texts.title);
  fill_place(page, "{{style}}", std::string(shared_style()).append(texts.style));
  fill_place(page, "{{script}}", std::string(shared_script()).append(texts.script));
  fill_place(page, "{{body}}", texts.body);
  return page;
}

// JSON has "<" only within strings, where an escape stands for it.
std::string json_in_html(std::string json) {
  constexpr std::string_view kEscape = "\\u003c";
  for (auto at = json.find('<'); at != std::string::npos; at = json.find('<', at))
    json.replace(at, 1, kEscape);
  return json;
}

}  // namespace penstock::partition
