#include "runtime/huggingface/chat_prompt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/text/byte_pairs/coder.h"

// A model that was made of a chat model reads the frames within a turn of a user, and writes the
// text as the assistant's answer. transformers writes what is around them by the folder's chat
// template, a program in Jinja. All templates of one class write the same, so an architecture has
// the texts, and the folder's own tokenizer makes them labels. A folder's template is only searched
// for the tokens.

namespace penstock::runtime {
namespace {

constexpr const char* kChatTemplate = "chat_template.jinja";

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return small;
}

std::string_view name_of_language(const ChatPrompt& chat, const std::string& language,
                                  const std::filesystem::path& folder) {
  const std::string small = in_small_letters(language);
  std::vector<std::string_view> names;
  for (const PromptLanguage& known : chat.languages) {
    if (small == known.code || small == in_small_letters(known.name)) return known.name;
    names.push_back(known.name);
  }
  throw_fault(folder, fmt::format("is of a model that knows no language '{}': choose with "
                                  "--language among {}",
                                  language, fmt::join(names, " ")));
}

/// Throws CheckpointError unless the tokenizer finds the token in texts as a whole.
void check_token(std::string_view token, const BytePairModel& model,
                 const std::filesystem::path& folder) {
  if (std::ranges::find(model.added, token, &AddedToken::text) == model.added.end())
    throw_fault(folder / kTokenizer,
                fmt::format("has no added token '{}', which the model's chat has", token));
  const auto file = folder / kChatTemplate;
  if (is_there(file) && text_of_file(file).find(token) == std::string::npos)
    throw_fault(file, fmt::format("has no '{}', so it writes another chat than the published "
                                  "models read: penstock writes theirs, and needs no template",
                                  token));
}

/// Throws CheckpointError unless generation ends with the token.
void check_end(std::int32_t label, std::string_view token, const ChatFolder& from) {
  const auto found = from.config.find("eos_token_id");
  if (found == from.config.end()) return;
  const std::string row = fmt::format("{}", label <= from.blank ? label - 1 : label);
  std::vector<std::string> ends = items_of_json_list(found->second);
  if (ends.empty()) ends = {found->second};
  if (std::ranges::find(ends, row) == ends.end())
    throw_fault(from.folder / kModelConfig,
                fmt::format("eos_token_id is {}, but '{}', which ends a turn of the chat, has row "
                            "{}: it must name this one",
                            found->second, token, row));
}

std::vector<int> labels_of(const BytePairCoder& coder, std::string_view text) {
  std::vector<int> labels;
  for (const std::int32_t id : coder.encode(text)) labels.push_back(id + 1);
  return labels;
}

}  // namespace

ChatIds chat_ids(const ChatPrompt& chat, const BytePairRows& tokenizer, const std::string& language,
                 const ChatFolder& from) {
  ChatIds ids;
  for (const std::string_view token : chat.tokens) check_token(token, tokenizer.model, from.folder);
  std::string after(chat.after);
  if (!language.empty()) {
    for (const std::string_view token : chat.language_tokens)
      if (std::ranges::find(tokenizer.model.added, token, &AddedToken::text) ==
          tokenizer.model.added.end())
        throw_fault(from.folder / kTokenizer,
                    fmt::format("has no added token '{}', which comes after a language: leave "
                                "--language out",
                                token));
    ids.language = name_of_language(chat, language, from.folder);
    after += chat.language;
    after.replace(after.find("{}"), 2, ids.language);
  }
  const BytePairCoder coder(tokenizer.model);
  ids.before = labels_of(coder, chat.before);
  ids.after = labels_of(coder, after);
  ids.end = labels_of(coder, chat.end).front();
  check_end(ids.end, chat.end, from);
  return ids;
}

void set_chat(const ChatIds& chat, layers::DecoderOptions& decoder) {
  decoder.prefix = chat.before;
  decoder.prompt.assign(chat.after.begin(), chat.after.end() - 1);
  decoder.bos = chat.after.back();
  decoder.eos = chat.end;
}

}  // namespace penstock::runtime
