#include "tools/reports/training/incidents.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_nesting.h"
#include "base/quantities.h"
#include "tools/reports/training/html_text.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kMostIncidents = 100;

std::string text_at(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::vector<RunIncident> parse_incidents(std::string_view text) {
  std::vector<RunIncident> incidents;
  for (std::size_t end = 0; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (json_nests_too_deeply(line)) continue;
    const nlohmann::json object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) continue;
    RunIncident incident{.time = text_at(object, "time"),
                         .kind = text_at(object, "kind"),
                         .host = text_at(object, "host"),
                         .message = text_at(object, "message")};
    if (const auto step = object.find("step"); step != object.end() && step->is_number_integer())
      incident.step = step->get<std::int64_t>();
    if (!incident.kind.empty()) incidents.push_back(std::move(incident));
  }
  return incidents;
}

std::string incidents_html(const std::vector<RunIncident>& incidents) {
  if (incidents.empty()) return "";
  std::string html;
  if (incidents.size() > kMostIncidents)
    html = fmt::format("<p class=\"note\">The newest {} of {}.</p>\n", kMostIncidents,
                       number_text(static_cast<double>(incidents.size())));
  html +=
      "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">time (UTC)</th>"
      "<th scope=\"col\" class=\"n\">step</th><th scope=\"col\">kind</th>"
      "<th scope=\"col\">what happened</th></tr></thead>\n<tbody>\n";
  const std::size_t first = incidents.size() - std::min(kMostIncidents, incidents.size());
  for (std::size_t i = first; i < incidents.size(); ++i) {
    const auto& [time, kind, host, message, step] = incidents[i];
    html += fmt::format(
        "<tr><td class=\"nowrap\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}{}</td></tr>\n",
        html_text(time), number_text(static_cast<double>(step)), html_text(kind),
        html_text(message), host.empty() ? "" : html_text(" (" + host + ")"));
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace penstock::tools
