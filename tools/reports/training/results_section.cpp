#include "tools/reports/training/results_section.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/quantities.h"
#include "runtime/text/error_rate.h"
#include "tools/reports/training/audio_url.h"
#include "tools/reports/training/html_text.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kMostValues = 50;  // of a field

std::string percent_text(std::int64_t edits, std::int64_t of) {
  return fmt::format("{:.2f} %", 100 * runtime::EditCount{edits, of}.rate());
}

std::string tally_row(const std::string& name, const EditTally& tally) {
  return fmt::format(
      "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td>"
      "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
      html_text(name), number_text(static_cast<double>(tally.utterances)),
      number_text(static_cast<double>(tally.words)), percent_text(tally.word_edits, tally.words),
      percent_text(tally.character_edits, tally.characters));
}

std::string tally_table(const std::string& head, const std::map<std::string, EditTally>& tallies) {
  std::string rows;
  std::size_t shown = 0;
  for (const auto& [name, tally] : tallies)
    if (shown++ < kMostValues) rows += tally_row(name, tally);
  std::string html = fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">{}</th>"
      "<th scope=\"col\" class=\"n\">utterances</th><th scope=\"col\" class=\"n\">words</th>"
      "<th scope=\"col\" class=\"n\">WER</th><th scope=\"col\" class=\"n\">CER</th></tr></thead>\n"
      "<tbody>\n{}</tbody></table></div>\n",
      html_text(head), rows);
  if (shown > kMostValues)
    html += fmt::format("<p class=\"note\">The first {} of {}.</p>\n", kMostValues, shown);
  return html;
}

/// Returns an audio element, or a sentence that says why there is none.
std::string audio_html(const JudgedText& utterance) try {
  return fmt::format("<audio controls preload=\"none\" aria-label=\"Listen\" src=\"{}\"></audio>{}",
                     audio_url(utterance),
                     utterance.duration > kHeardSeconds
                         ? fmt::format(" <span>the first {:.0f} s of {}</span>", kHeardSeconds,
                                       seconds_text(utterance.duration))
                         : "");
} catch (const Error& error) {
  return fmt::format("<span>no recording: {}</span>", html_text(error.what()));
}

std::string utterance_html(const JudgedText& utterance) {
  const EditTally& edits = utterance.edits;
  return fmt::format(
      "<li><p class=\"texts\"><b>reference</b> <span>{}</span><b>recognised</b> <span>{}</span>"
      "</p>\n<p class=\"listen\">{} in {}. {}</p>\n<p class=\"where\">{}{}</p></li>\n",
      html_text(utterance.reference),
      utterance.hypothesis.empty() ? "(nothing)" : html_text(utterance.hypothesis),
      counted(edits.word_edits, "edit"), counted(edits.words, "word"), audio_html(utterance),
      html_text(utterance.audio),
      utterance.offset ? fmt::format(" from {:g} s on", *utterance.offset) : "");
}

}  // namespace

std::string results_html(const JudgedResults& results) {
  std::string html = fmt::format("<p class=\"note\">{}: {}.", html_text(results.file),
                                 counted(results.all.utterances, "utterance"));
  if (results.failed > 0) html += fmt::format(" {} failed.", results.failed);
  html += "</p>\n";
  if (results.all.utterances == 0) return html + "<p class=\"note\">No utterance was judged.</p>\n";
  html += tally_table("", {{"all", results.all}});
  if (!results.manifests.empty()) html += tally_table("manifest", results.manifests);
  for (const auto& [field, tallies] : results.fields) html += tally_table(field, tallies);
  if (results.all.word_edits == 0)
    return html + "<p class=\"note\">No utterance has an error.</p>\n";
  if (results.worst.empty()) return html;
  html += fmt::format("<h3>The {} with most errors for their words</h3>\n<ol class=\"worst\">\n",
                      counted(static_cast<std::int64_t>(results.worst.size()), "utterance"));
  for (const JudgedText& utterance : results.worst) html += utterance_html(utterance);
  return html + "</ol>\n";
}

}  // namespace penstock::tools
