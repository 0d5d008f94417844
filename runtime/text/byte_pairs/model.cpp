#include "runtime/text/byte_pairs/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/error.h"
#include "base/json_nesting.h"
#include "runtime/text/byte_pairs/byte_alphabet.h"

// The parts of a tokenizer.json that matter, in short:
//
//   {"added_tokens": [{"id": 9, "content": "<|endoftext|>", "special": true, …}, …],
//    "normalizer": null or {"type": "NFC"},
//    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}
//        or {"type": "Sequence", "pretokenizers": [{"type": "Split", …}, {"type": "ByteLevel",
//        …}]},
//    "decoder": {"type": "ByteLevel"},
//    "model": {"type": "BPE", "vocab": {"!": 0, …}, "merges": ["Ġ t", …] or [["Ġ", "t"], …]}}
//
// A part of another kind is an error, because labels would be wrong without a sign of it. The
// post-processor is ignored: it adds tokens around a text, which are the decoder's business.

namespace penstock::runtime {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

[[noreturn]] void throw_part(std::string_view part, const Json& found, std::string_view wanted) {
  constexpr std::size_t kShown = 200;
  std::string shown = found.dump(-1, ' ', true);
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "…";
  throw DataError(fmt::format("its {} is {}; penstock reads {}", part, shown, wanted));
}

Json part_of(const Json& json, const char* name) { return json.value(name, Json()); }

std::string type_of(const Json& step) {
  return step.is_object() ? step.value("type", std::string()) : "";
}

std::int32_t checked_id(const Json& id, const std::string& token) {
  if (id.is_number_integer())
    if (const auto number = id.get<std::int64_t>(); number >= 0 && number < kMaxTokens)
      return static_cast<std::int32_t>(number);
  throw DataError(fmt::format("it gives '{}' the id {}; ids are whole numbers below {}", token,
                              id.dump(), kMaxTokens));
}

void add_token(BytePairModel& model, std::int32_t id, const std::string& token) {
  const auto at = static_cast<std::size_t>(id);
  if (model.tokens.size() <= at) model.tokens.resize(at + 1);
  if (!model.tokens[at].empty() && model.tokens[at] != token)
    throw DataError(
        fmt::format("it gives the id {} to '{}' and to '{}'", id, model.tokens[at], token));
  model.tokens[at] = token;
}

void read_added(const Json& json, BytePairModel& model) {
  for (const Json& one : json) {
    AddedToken token{.text = one.at("content")};
    if (token.text.empty()) continue;
    token.id = checked_id(one.at("id"), token.text);
    token.special = one.value("special", false);
    token.normalized = one.value("normalized", !token.special);
    token.takes_spaces_before = one.value("lstrip", false);
    token.takes_spaces_after = one.value("rstrip", false);
    if (one.value("single_word", false))
      throw_part("added token", one, "none with single_word: true");
    add_token(model, token.id, token.text);
    model.added.push_back(std::move(token));
  }
}

void read_normalizer(Json step, BytePairModel& model) {
  if (type_of(step) == "Sequence" && step.at("normalizers").size() == 1)
    step = Json(step.at("normalizers").front());
  model.composes = type_of(step) == "NFC";
  if (!model.composes && !step.is_null()) throw_part("normalizer", step, "NFC, or none");
}

/// Returns true if the step is the one that cuts words as Qwen2 does.
bool is_qwen2_split(const Json& step) {
  return type_of(step) == "Split" && part_of(step.at("pattern"), "Regex") == kQwen2Expression &&
         part_of(step, "behavior") == "Isolated" && !step.value("invert", false);
}

void read_words(const Json& step, BytePairModel& model) {
  constexpr auto kWanted =
      "ByteLevel with GPT-2's expression, or a Split with that of Qwen2 and ByteLevel without one";
  if (type_of(step) == "ByteLevel" && step.value("use_regex", true)) {
    model.split = WordSplit::gpt2;
    model.prefix_space = step.value("add_prefix_space", true);
    return;
  }
  const Json steps = type_of(step) == "Sequence" ? step.at("pretokenizers") : Json::array();
  if (steps.size() != 2 || !is_qwen2_split(steps[0]) || type_of(steps[1]) != "ByteLevel" ||
      steps[1].value("use_regex", true) || steps[1].value("add_prefix_space", true))
    throw_part("pre_tokenizer", step, kWanted);
  model.split = WordSplit::qwen2;
}

std::pair<std::string, std::string> merge_of(const Json& merge) {
  if (merge.is_array() && merge.size() == 2) return {merge[0], merge[1]};
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const std::size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
    throw_part("merge", merge, "two tokens, as \"a b\" or [\"a\", \"b\"]");
  return {text.substr(0, space), text.substr(space + 1)};
}

void read_model(const Json& json, BytePairModel& model) {
  if (const Json type = json.value("type", Json("BPE")); type != "BPE")
    throw_part("model", type, "BPE");
  if (const Json dropout = part_of(json, "dropout"); !dropout.is_null() && dropout != 0)
    throw_part("model.dropout", dropout, "null");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json found = part_of(json, affix); !found.is_null() && found != "")
      throw_part(fmt::format("model.{}", affix), found, "null");
  model.whole_words = json.value("ignore_merges", false);
  for (const auto& [token, id] : json.at("vocab").items())
    add_token(model, checked_id(id, token), token);
  for (const Json& merge : json.at("merges")) model.merges.push_back(merge_of(merge));
}

/// Throws DataError unless each byte of UTF-8 and each merge has a token, and each token one id.
void check(const BytePairModel& model) {
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < model.tokens.size(); ++id) {
    const std::string& token = model.tokens[id];
    if (token.empty()) continue;
    if (const auto [at, is_new] = ids.emplace(token, id); !is_new)
      throw DataError(fmt::format("it gives '{}' the ids {} and {}", token, at->second, id));
  }
  for (int byte = 0; byte < 0xf5; ++byte) {
    const char one = static_cast<char>(byte);
    const std::string token = token_of_bytes({&one, 1});
    if (byte != 0xc0 && byte != 0xc1 && !ids.contains(token))
      throw DataError(
          fmt::format("it has no token '{}' for the byte 0x{:02x}, so some texts would "
                      "have no labels",
                      token, byte));
  }
  for (const auto& [left, right] : model.merges)
    for (const std::string& token : {left, right, left + right})
      if (!ids.contains(token))
        throw DataError(fmt::format("its merge of '{}' and '{}' needs '{}', which is no token",
                                    left, right, token));
}

OrderedJson byte_level(bool prefix_space, bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix_space},
          {"trim_offsets", false},
          {"use_regex", use_regex}};
}

OrderedJson words_json(const BytePairModel& model) {
  if (model.split == WordSplit::gpt2) return byte_level(model.prefix_space, true);
  const OrderedJson split = {{"type", "Split"},
                             {"pattern", {{"Regex", kQwen2Expression}}},
                             {"behavior", "Isolated"},
                             {"invert", false}};
  return {{"type", "Sequence"},
          {"pretokenizers", OrderedJson::array({split, byte_level(false, false)})}};
}

OrderedJson added_json(const AddedToken& token) {
  return {{"id", token.id},
          {"content", token.text},
          {"single_word", false},
          {"lstrip", token.takes_spaces_before},
          {"rstrip", token.takes_spaces_after},
          {"normalized", token.normalized},
          {"special", token.special}};
}

}  // namespace

BytePairModel parse_byte_pairs(std::string_view tokenizer_json) {
  if (json_nests_too_deeply(tokenizer_json))
    throw DataError(fmt::format("its values nest deeper than {}", kDeepestNesting));
  BytePairModel model;
  try {
    const Json json = Json::parse(tokenizer_json);
    read_model(json.at("model"), model);
    read_added(json.value("added_tokens", Json::array()), model);
    read_normalizer(part_of(json, "normalizer"), model);
    read_words(part_of(json, "pre_tokenizer"), model);
    if (const Json decoder = part_of(json, "decoder"); type_of(decoder) != "ByteLevel")
      throw_part("decoder", decoder, "ByteLevel");
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("it is no tokenizer.json of byte-level BPE: {}", error.what()));
  }
  check(model);
  return model;
}

// Added tokens stand among the others too, since the library numbers those that do not by itself.
std::string to_tokenizer_json(const BytePairModel& model) {
  OrderedJson added = OrderedJson::array(), merges = OrderedJson::array();
  for (const AddedToken& token : model.added) added.push_back(added_json(token));
  for (const auto& [left, right] : model.merges)
    merges.push_back(OrderedJson::array({left, right}));
  Json vocabulary = Json::object();
  for (std::size_t id = 0; id < model.tokens.size(); ++id)
    if (!model.tokens[id].empty()) vocabulary[model.tokens[id]] = id;
  const OrderedJson json = {
      {"version", "1.0"},
      {"truncation", nullptr},
      {"padding", nullptr},
      {"added_tokens", added},
      {"normalizer", model.composes ? OrderedJson({{"type", "NFC"}}) : OrderedJson()},
      {"pre_tokenizer", words_json(model)},
      {"post_processor", nullptr},
      {"decoder", byte_level(false, true)},
      {"model",
       {{"type", "BPE"},
        {"dropout", nullptr},
        {"unk_token", nullptr},
        {"continuing_subword_prefix", nullptr},
        {"end_of_word_suffix", nullptr},
        {"fuse_unk", false},
        {"byte_fallback", false},
        {"ignore_merges", model.whole_words},
        {"vocab", OrderedJson(vocabulary)},
        {"merges", merges}}}};
  return json.dump() + "\n";
}

bool has_byte_pairs(std::string_view tokenizer_json) {
  if (json_nests_too_deeply(tokenizer_json)) return false;
  const Json json = Json::parse(tokenizer_json, nullptr, false);
  return json.is_object() && type_of(part_of(json, "decoder")) == "ByteLevel";
}

}  // namespace penstock::runtime
