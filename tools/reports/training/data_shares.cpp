#include "tools/reports/training/data_shares.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantities.h"
#include "configs/flatten.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "runtime/corpus/corpora.h"
#include "runtime/text/tokenizer.h"
#include "tools/reports/training/html_text.h"

namespace penstock::tools {

std::vector<DataShare> data_shares(const runtime::TrainingState& state, const std::string& run) {
  const configs::Config config =
      configs::unflatten(state.config, "the checkpoint of " + run, layers::model_families());
  runtime::check_training_manifest(config);
  const auto tokenizer = runtime::make_tokenizer(config.text);
  const partition::LayerSequence sequence =
      partition::build_trained_model(config, tokenizer->labels());
  const runtime::Corpus corpus =
      runtime::planned_corpus(config, sequence, *tokenizer, runtime::CorpusUse::training);
  if (corpus.mixture.empty())
    return {{.manifest = config.data.train.front().manifest,
             .utterances = corpus.size(),
             .seconds = corpus.seconds()}};
  std::vector<DataShare> shares;
  for (const runtime::Mixture::Part& part : corpus.mixture.parts())
    shares.push_back({.manifest = part.is.manifest,
                      .group = part.is.group,
                      .utterances = part.is.utterances,
                      .seconds = part.is.seconds,
                      .share = part.share,
                      .repeats = part.repeats()});
  return shares;
}

std::string shares_html(const std::vector<DataShare>& shares) {
  const bool has_groups =
      std::ranges::any_of(shares, [](const DataShare& each) { return !each.group.empty(); });
  std::string html = fmt::format(
      "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">manifest</th>{}"
      "<th scope=\"col\" class=\"n\">utterances</th><th scope=\"col\" class=\"n\">audio</th>"
      "<th scope=\"col\" class=\"n\">times an epoch</th><th scope=\"col\" class=\"n\">share</th>"
      "<td></td></tr></thead>\n<tbody>\n",
      has_groups ? "<th scope=\"col\">group</th>" : "");
  for (const auto& [manifest, group, utterances, seconds, share, repeats] : shares)
    html += fmt::format(
        "<tr><th scope=\"row\">{}</th>{}<td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{:.2f}</td><td class=\"n\">{:.1f} %</td>"
        "<td><div class=\"share\"><i style=\"width: {:.1f}%\"></i></div></td></tr>\n",
        html_text(manifest), has_groups ? fmt::format("<td>{}</td>", html_text(group)) : "",
        number_text(static_cast<double>(utterances)), seconds_text(seconds), repeats, 100 * share,
        100 * share);
  return html + "</tbody></table></div>\n";
}

}  // namespace penstock::tools
