#include "tools/reports/preview_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/encoded_text.h"
#include "base/quantities.h"
#include "configs/flatten.h"
#include "partition/planner/report/html_page.h"
#include "runtime/data/audio/features.h"
#include "runtime/data/audio/write_wav.h"
#include "tools/reports/effect_texts.h"
#include "tools/reports/preview_texts.h"

// The page's script draws all pictures from numbers, as that of `penstock plan --report` does. So
// the page holds the features themselves, in base64 of 32-bit numbers, and shows each of them. A
// picture in PNG would need another library and hold 8 bits of each. Waveforms are reduced to the
// least and the greatest sample of each column; the samples themselves are in the WAV files.
//
// Each utterance is a script element of JSON, so the page grows by one at a time. Texts of a corpus
// reach the page as JSON alone, from which the script makes text nodes, never elements.

namespace penstock::tools {
namespace {

using PreviewJson = nlohmann::ordered_json;

constexpr std::size_t kColumns = 1200;  // of a waveform; screens show fewer

std::string for_script(const PreviewJson& json) {
  return partition::json_in_html(json.dump(-1, ' ', false, PreviewJson::error_handler_t::replace));
}

double rounded(float sample) { return std::round(static_cast<double>(sample) * 1e4) / 1e4; }

/// Returns [least, greatest] of each column.
PreviewJson waveform_columns(std::span<const float> samples) {
  PreviewJson columns = PreviewJson::array();
  const std::size_t count = std::min(kColumns, samples.size());
  for (std::size_t column = 0; column < count; ++column) {
    const std::size_t begin = column * samples.size() / count;
    const std::size_t end = (column + 1) * samples.size() / count;
    const auto [least, most] = std::ranges::minmax(samples.subspan(begin, end - begin));
    columns.push_back({rounded(least), rounded(most)});
  }
  return columns;
}

PreviewJson sound_json(const std::string& file, std::span<const float> samples, int rate) {
  float peak = 0;
  for (const float sample : samples) peak = std::max(peak, std::abs(sample));
  return {{"file", file},
          {"seconds", static_cast<double>(samples.size()) / rate},
          {"peak", rounded(peak)},
          {"columns", waveform_columns(samples)}};
}

PreviewJson masks_json(const std::vector<runtime::FeatureMask>& masks) {
  PreviewJson json = PreviewJson::array();
  for (const runtime::FeatureMask& mask : masks)
    if (mask.count > 0) json.push_back({mask.first, mask.count});
  return json;
}

/// Returns the features in frames before features.stack, which lie in the same order. A waveform
/// has none.
PreviewJson features_json(const runtime::PreviewedUtterance& utterance,
                          const configs::FeatureConfig& features) {
  if (features.kind == "waveform") return nullptr;
  std::string bytes(utterance.x_FC.size() * sizeof(float), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), utterance.x_FC.data(), bytes.size());
  const runtime::FeatureEffects& effects = utterance.effects.features;
  PreviewJson warp = nullptr;
  if (effects.warp) warp = {effects.warp->from, effects.warp->to};
  return {
      {"frames", utterance.drawn.frames * features.stack},
      {"channels", runtime::feature_bins(features) / features.stack},
      {"hop", static_cast<double>(runtime::frame_geometry(features).hop) / features.sample_rate},
      {"channelMasks", masks_json(effects.channels)},
      {"timeMasks", masks_json(effects.frames)},
      {"warp", warp},
      {"base64", to_base64(bytes)}};
}

std::string features_text(const configs::FeatureConfig& features) {
  if (features.kind == "waveform") return fmt::format("waveform at {} Hz", features.sample_rate);
  return fmt::format("{}, {} every {:g} ms, at {} Hz", features.kind,
                     counted(runtime::feature_bins(features) / features.stack, "channel"),
                     features.hop_ms, features.sample_rate);
}

PreviewJson head_json(const configs::Config& config, const PreviewHead& head) {
  PreviewJson facts = PreviewJson::array();
  facts.push_back({"features", features_text(config.features)});
  facts.push_back({"trainer.seed", fmt::format("{}", config.trainer.seed)});
  configs::Config plain = config;
  plain.augment = {};
  plain.data.speeds = {1};
  for (const configs::Difference& key : configs::differences(plain, config))
    facts.push_back({key.key, key.after});
  return {{"title", head.title},
          {"headline",
           fmt::format("{} of {}, as in epoch {} of the training.", head.shown,
                       counted(static_cast<std::int64_t>(head.draws), "utterance"), head.epoch)},
          {"facts", facts}};
}

}  // namespace

PreviewFolder::PreviewFolder(std::filesystem::path folder, const configs::Config& config,
                             const PreviewHead& head)
    : folder_(std::move(folder)), config_(config), page_(folder_ / "index.html") {
  constexpr std::string_view kUtterances = "{{utterances}}";
  const std::string page = partition::assembled_page(
      {"penstock data preview", preview_page(), preview_style(), preview_script()});
  const std::size_t at = page.find(kUtterances);
  rest_ = page.substr(at + kUtterances.size());
  partition::fill_place(rest_, "{{data}}", for_script(head_json(config, head)));
  page_.write(page.substr(0, at));
}

void PreviewFolder::add(const runtime::PreviewedUtterance& utterance) {
  const int rate = config_.features.sample_rate;
  const auto written = [&](const char* end, std::span<const float> samples) {
    const std::string file = fmt::format("{:02}{}.wav", added_, end);
    runtime::write_wav(folder_ / file, samples, rate);
    return sound_json(file, samples, rate);
  };
  ++added_;
  PreviewJson recorded = nullptr;
  if (utterance.recorded != utterance.heard) recorded = written("-recorded", utterance.recorded);
  const PreviewJson json = {{"name", utterance.name},
                            {"where", utterance.where},
                            {"audio", utterance.audio},
                            {"text", utterance.text},
                            {"trainedText", utterance.trained_text},
                            {"labels", utterance.labels},
                            {"effects", effect_texts(utterance, config_.augment)},
                            {"recorded", recorded},
                            {"heard", written("", utterance.heard)},
                            {"features", features_json(utterance, config_.features)}};
  page_.write(fmt::format("<script type=\"application/json\" class=\"utterance\">{}</script>\n",
                          for_script(json)));
}

void PreviewFolder::finish() {
  page_.write(rest_);
  page_.commit();
}

}  // namespace penstock::tools
