#include "tools/reports/training/html_text.h"

#include "base/unicode.h"

namespace penstock::tools {

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : repaired_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&')
      html += "&amp;";
    else if (c == '<')
      html += "&lt;";
    else if (c == '>')
      html += "&gt;";
    else if (c == '"')
      html += "&quot;";
    else if (c == '\'')
      html += "&#39;";
    else if (c == '{')
      html += "&#123;";
    else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
      html += "\xEF\xBF\xBD";
    else
      html += c;
  }
  return html;
}

}  // namespace penstock::tools
