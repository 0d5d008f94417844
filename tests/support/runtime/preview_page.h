#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace penstock::test {

/// The data of a page that `penstock data preview` wrote.
struct PreviewData {
  nlohmann::json head;
  std::vector<nlohmann::json> utterances;
};

/// Parses a page as a browser finds its script elements: each ends with the first "</script" in it.
PreviewData preview_data(const std::string& page);

/// Returns the numbers of an utterance's features.
std::vector<float> features_of(const nlohmann::json& utterance);

}  // namespace penstock::test
