#include "configs/rules.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace penstock {
namespace {

bool repeats(const std::string& text) {
  return std::set<char>(text.begin(), text.end()).size() != text.size();
}

bool holds_case(const std::string& text, char first, char last) {
  return std::ranges::any_of(text, [&](char c) { return first <= c && c <= last; });
}

/// Labels are single bytes of ASCII, so that every character has a label of its own.
bool plain(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return ' ' <= c && c <= '~'; });
}

}  // namespace

std::vector<std::string> contradictions(const Config& c,
                                        const std::function<std::string(std::string_view)>& where) {
  std::vector<std::string> faults;
  const auto fault = [&](std::string_view key, const std::string& what) {
    faults.push_back(where(key) + ": " + what);
  };
  const auto& s = c.schedule;
  if ((s.kind == "cosine" || s.kind == "polynomial") && s.horizon <= s.warmup) {
    fault(s.horizon > 0 ? "schedule.horizon" : "schedule.kind",
          "schedule.kind = " + s.kind + " ends at schedule.horizon, which is " +
              std::to_string(s.horizon) + " and must be above schedule.warmup (" +
              std::to_string(s.warmup) + ")");
  }
  const auto& d = c.data;
  if (d.max_seconds > 0 && d.min_seconds >= d.max_seconds) {
    fault("data.min_seconds",
          "data.min_seconds is not below data.max_seconds: no utterance fits between them");
  }
  const auto& t = c.text;
  if (t.alphabet.empty() || repeats(t.alphabet) || !plain(t.alphabet)) {
    fault("text.alphabet", "text.alphabet must hold printable ASCII characters, each once");
  }
  if ((t.fold == "lower" && holds_case(t.alphabet, 'A', 'Z')) ||
      (t.fold == "upper" && holds_case(t.alphabet, 'a', 'z'))) {
    fault("text.fold",
          "text.fold = " + t.fold + " leaves letters of text.alphabet that no transcript can hold");
  }
  const auto& f = c.features;
  const auto window = static_cast<std::int64_t>(std::llround(f.sample_rate * f.window_ms / 1000));
  if (f.fft > 0 && f.fft < window) {
    fault("features.fft", "features.fft = " + std::to_string(f.fft) + " is below the window's " +
                              std::to_string(window) + " samples");
  }
  const int replicas = c.pipeline.replicas, lanes = c.trainer.lanes;
  if (lanes > 0 && lanes < replicas) {
    fault("trainer.lanes", "trainer.lanes = " + std::to_string(lanes) + " leaves some of the " +
                               std::to_string(replicas) +
                               " replicas (pipeline.replicas) without a lane");
  }
  if (std::max(lanes, replicas) > d.micro_batches) {
    fault("data.micro_batches", "data.micro_batches = " + std::to_string(d.micro_batches) +
                                    " is too few for " + std::to_string(std::max(lanes, replicas)) +
                                    " lanes");
  }
  return faults;
}

}  // namespace penstock
