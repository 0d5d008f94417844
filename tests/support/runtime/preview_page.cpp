#include "tests/support/runtime/preview_page.h"

#include <cstring>

#include "base/encoded_text.h"

namespace penstock::test {

PreviewData preview_data(const std::string& page) {
  const std::string open = "<script type=\"application/json\" ";
  PreviewData data;
  for (auto at = page.find(open); at != std::string::npos; at = page.find(open, at + 1)) {
    const auto from = page.find('>', at) + 1;
    const auto json = nlohmann::json::parse(page.substr(from, page.find("</script", from) - from));
    if (page.compare(at + open.size(), 2, "id") == 0)
      data.head = json;
    else
      data.utterances.push_back(json);
  }
  return data;
}

std::vector<float> features_of(const nlohmann::json& utterance) {
  const std::string bytes =
      from_base64(utterance.at("features").at("base64").get<std::string>()).value();
  std::vector<float> numbers(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

}  // namespace penstock::test
