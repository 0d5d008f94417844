#include "tools/reports/training/html_text.h"

#include <gtest/gtest.h>

namespace penstock::tools {
namespace {

TEST(HtmlText, LeavesNoMarkup) {
  EXPECT_EQ(html_text("<b class=\"x\" id='y'>Q&A</b>"),
            "&lt;b class=&quot;x&quot; id=&#39;y&#39;&gt;Q&amp;A&lt;/b&gt;");
}

TEST(HtmlText, HoldsNoPlaceOfAPage) { EXPECT_EQ(html_text("{{data}}"), "&#123;&#123;data}}"); }

TEST(HtmlText, KeepsLettersOfAnyScript) {
  EXPECT_EQ(html_text("père 你好\n\t!"), "père 你好\n\t!");
}

TEST(HtmlText, ReplacesWhatHtmlForbids) {
  EXPECT_EQ(html_text(std::string_view("a\0b\x1b[0m\xff\x7f", 9)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD[0m\xEF\xBF\xBD\xEF\xBF\xBD");
}

}  // namespace
}  // namespace penstock::tools
