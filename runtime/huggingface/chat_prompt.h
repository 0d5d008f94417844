#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "layers/models/decoder.h"
#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/byte_pair_rows.h"

namespace penstock::runtime {

/// The labels that a chat writes around the frames.
struct ChatIds {
  std::vector<int> before, after;  // the last one of `after` begins the text
  int end = 0;
  std::string language = {};  // its name; empty: none is named
};

/// A folder with a chat's tokenizer.
struct ChatFolder {
  const std::filesystem::path& folder;
  const Settings& config;  // config.json
  std::int64_t blank = 0;  // the head's row
};

/// Returns the labels of a chat that names `language`, given by its name or its code, in any case;
/// empty: it names none. Throws CheckpointError if a token is missing, if the folder's own template
/// lacks one, if eos_token_id does not name the end, or for an unknown language.
[[nodiscard]] ChatIds chat_ids(const ChatPrompt& chat, const BytePairRows& tokenizer,
                               const std::string& language, const ChatFolder& from);

/// Sets the keys decoder.prefix, decoder.prompt, decoder.bos and decoder.eos.
void set_chat(const ChatIds& chat, layers::DecoderOptions& decoder);

}  // namespace penstock::runtime
