#include "runtime/text/byte_pairs/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/json_nesting.h"
#include "base/unicode.h"
#include "runtime/text/byte_pairs/model.h"

// A folder without tokenizer.json has the model in older files, which say less: the class of
// tokenizer_config.json implies how words are cut. What they say is written as a tokenizer.json and
// read from there, so both forms meet the same checks.
//
//   vocab.json             {"!": 0, …}
//   merges.txt             #version: 0.2 / Ġ t / …
//   added_tokens.json      {"<|startoftranscript|>": 50258, …}
//   tokenizer_config.json  {"tokenizer_class": "WhisperTokenizer", "eos_token": "<|endoftext|>",
//                           "added_tokens_decoder": {"50257": {"content": …}, …}}

namespace penstock::runtime {
namespace {

using Json = nlohmann::json;

Json json_of_file(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  if (json_nests_too_deeply(text))
    throw DataError(
        fmt::format("{}: its values nest deeper than {}", file.string(), kDeepestNesting));
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw DataError(fmt::format("{}: can't be read as JSON: {}", file.string(), error.what()));
  }
}

Json json_if_there(const std::filesystem::path& file) {
  std::error_code ignored;  // reading the file reports errors
  return std::filesystem::exists(file, ignored) ? json_of_file(file) : Json::object();
}

std::int32_t id_of(const Json& id, const std::string& token) {
  if (id.is_number_integer())
    if (const auto number = id.get<std::int64_t>(); number >= 0 && number < kMaxTokens)
      return static_cast<std::int32_t>(number);
  throw DataError(fmt::format("'{}' has the id {}; ids are whole numbers below {}", token,
                              id.dump(), kMaxTokens));
}

/// Sets how words are cut, as the class of transformers does.
void set_class(const Json& config, BytePairModel& model, const std::filesystem::path& file) {
  const std::string name = config.value("tokenizer_class", std::string());
  const auto is = [&](std::string_view known) {
    return name == known || name == fmt::format("{}Fast", known);
  };
  const bool qwen2 = is("Qwen2Tokenizer");
  if (!qwen2 && !is("WhisperTokenizer") && !is("GPT2Tokenizer"))
    throw DataError(fmt::format(
        "{}: tokenizer_class is '{}', but vocab.json and merges.txt are read for WhisperTokenizer, "
        "GPT2Tokenizer and Qwen2Tokenizer; a tokenizer.json, which AutoTokenizer writes by "
        "save_pretrained(), says what others do",
        file.string(), name));
  model.split = qwen2 ? WordSplit::qwen2 : WordSplit::gpt2;
  model.composes = qwen2;
  const Json prefix = config.value("add_prefix_space", Json());
  model.prefix_space = prefix.is_boolean() && prefix.get<bool>();
}

void read_merges(const std::filesystem::path& file, BytePairModel& model) {
  std::istringstream lines(read_file(file));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos ||
        decode_utf8(line).wrong_byte)
      throw DataError(
          fmt::format("{}:{}: is no merge, which is two tokens of UTF-8 with a space between them",
                      file.string(), number));
    model.merges.emplace_back(line.substr(0, space), line.substr(space + 1));
  }
}

/// Returns added tokens by id. Those of added_tokens.json have no properties, and those that the
/// class knows by name stand in vocab.json.
std::map<std::int32_t, AddedToken> added_tokens(const Json& config, const Json& added,
                                                const Json& vocabulary) {
  std::map<std::int32_t, AddedToken> tokens;
  const Json described = config.value("added_tokens_decoder", Json::object());
  for (const auto& [key, one] : described.items()) {
    AddedToken token{.text = one.at("content")};
    token.special = one.value("special", false);
    token.normalized = one.value("normalized", !token.special);
    token.takes_spaces_before = one.value("lstrip", false);
    token.takes_spaces_after = one.value("rstrip", false);
    token.id = id_of(Json::parse(key, nullptr, false), token.text);
    tokens.emplace(token.id, token);
  }
  const auto add = [&](const std::string& text, const Json& id) {
    const std::int32_t checked = id_of(id, text);
    tokens.emplace(checked, AddedToken{.text = text, .id = checked, .special = true});
  };
  for (const auto& [text, id] : added.items()) add(text, id);
  std::vector<std::string> known = {"<|endoftext|>"};
  for (const char* name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    const Json token = config.value(name, Json());
    if (token.is_string()) known.push_back(token);
    if (token.is_object()) known.push_back(token.at("content"));
  }
  for (const std::string& text : known)
    if (vocabulary.contains(text)) add(text, vocabulary.at(text));
  return tokens;
}

BytePairModel model_of_files(const std::filesystem::path& folder) {
  BytePairModel model;
  const std::filesystem::path config_file = folder / "tokenizer_config.json";
  const Json config = json_if_there(config_file);
  const Json vocabulary = json_of_file(folder / "vocab.json");
  try {
    set_class(config, model, config_file);
    const auto added =
        added_tokens(config, json_if_there(folder / "added_tokens.json"), vocabulary);
    const auto set = [&](std::int32_t id, const std::string& token) {
      const auto at = static_cast<std::size_t>(id);
      if (model.tokens.size() <= at) model.tokens.resize(at + 1);
      if (!model.tokens[at].empty() && model.tokens[at] != token)
        throw DataError(fmt::format("{}: the id {} is that of '{}' and of '{}'", folder.string(),
                                    id, model.tokens[at], token));
      model.tokens[at] = token;
    };
    for (const auto& [token, id] : vocabulary.items()) set(id_of(id, token), token);
    for (const auto& [id, token] : added) {
      set(id, token.text);
      model.added.push_back(token);
    }
  } catch (const Json::exception& error) {
    throw DataError(
        fmt::format("{}: is no tokenizer that penstock reads: {}", folder.string(), error.what()));
  }
  read_merges(folder / "merges.txt", model);
  return model;
}

}  // namespace

std::string byte_pairs_at(const std::filesystem::path& path) {
  std::error_code ignored;  // reading a file reports errors
  if (!std::filesystem::is_directory(path, ignored)) return read_file(path);
  const std::filesystem::path file = path / "tokenizer.json";
  if (std::filesystem::exists(file, ignored)) return read_file(file);
  return to_tokenizer_json(model_of_files(path));
}

}  // namespace penstock::runtime
