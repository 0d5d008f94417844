#include "tools/cli/manual_page.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace penstock::tools {
namespace {

const ManualEdition kEdition = {.version = "1.2", .date = "2026-11-30"};

TEST(ManualPage, SaysWhatHelpSays) {
  CLI::App app("Does work.", "program");
  app.set_help_flag();
  std::string word;
  app.add_option("-o,--output", word, "It isn't\n.begun here")->type_name("FILE");
  app.add_option("input", word, "A file")->required();
  app.footer("Two lines of\na paragraph.\n\nExamples:\n  program -o 'a\\b'\n  program");
  ASSERT_EQ(manual_pages(app, kEdition).size(), 1U);
  EXPECT_EQ(manual_pages(app, kEdition)[0].text,
            ".TH PROGRAM 1 \"2026-11-30\" \"penstock 1.2\" \"User Commands\"\n"
            ".SH NAME\nprogram \\- Does work\n"
            ".SH SYNOPSIS\n\\fBprogram\\fR [\\fIOPTIONS\\fR] \\fIinput\\fR\n"
            ".SH DESCRIPTION\nDoes work.\n.PP\nTwo lines of\na paragraph.\n"
            ".SH ARGUMENTS\n.TP\n\\fIinput\\fR TEXT REQUIRED\nA file\n"
            ".SH OPTIONS\n.TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR FILE\n"
            "It isn\\(aqt\n\\&.begun here\n"
            ".SH EXAMPLES\n.nf\nprogram \\-o \\(aqa\\eb\\(aq\nprogram\n.fi\n");
}

TEST(ManualPage, EveryCommandHasOne) {
  CLI::App app("Does work.", "program");
  CLI::App* data = app.add_subcommand("data", "Manifests");
  data->add_subcommand("make", "Write one");
  const std::vector<ManualPage> pages = manual_pages(app, kEdition);
  ASSERT_EQ(pages.size(), 3U);
  EXPECT_EQ(pages[0].name, "program");
  EXPECT_EQ(pages[1].name, "program-data");
  EXPECT_EQ(pages[2].name, "program-data-make");
  EXPECT_NE(pages[0].text.find(".TP\n\\fBprogram\\-data\\fR(1)\nManifests\n"), std::string::npos);
  EXPECT_NE(pages[2].text.find(".BR program\\-data (1)\n"), std::string::npos);
}

}  // namespace
}  // namespace penstock::tools
